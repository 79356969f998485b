"""Active content that a page must not have."""

ACTIVE = """<script>sprung()</script><img src="data:," onerror="sprung()" alt="a"><iframe src="x">
</iframe><a href="javascript:sprung()">a</a><a href="data:text/html,<script>sprung()</script>">b</a>
<svg onload="sprung()"><script>sprung()</script></svg><form action="x"><input autofocus
onfocus="sprung()"></form><style>*{}</style><meta http-equiv="refresh" content="0;x"><p
style="color: red; background-image: url(http://192.0.2.1/)">kept</p>"""
