"""The changes of a tuning as a diff and as a frame."""

from __future__ import annotations

import os

from netlab.face.changes import COLUMNS, Changes, HostChanges
from netlab.face.notebook import Site
from netlab.tuning.knobs import Knob
from netlab.tuning.plan import Change


def change(name: str, old: str | None, new: str, **more) -> Change:
    knob = Knob(kind="sysctl", name=name, value=new, source="appendix <B>")
    return Change(knob=knob, interface=None, old=old, supported=old is not None, **more)


SACK = change("net.ipv4.tcp_sack", "1", "0")
GONE = change("net.ipv4.tcp_tw_recycle", None, "1", reason="left Linux in 4.12")
CHANGES = Changes(
    (
        HostChanges("cable", "full", 9000, "left", (SACK, GONE)),
        HostChanges("cable", "full", 9000, "right", (SACK,)),
    )
)


def test_the_text_is_a_diff_under_a_heading_for_each_host():
    text = repr(CHANGES)
    assert text.startswith("# cable, full, MTU 9000: left\n- net.ipv4.tcp_sack = 1\n+ ")
    assert "! net.ipv4.tcp_tw_recycle = 1   # unsupported: left Linux in 4.12" in text
    assert text.count("# cable, full, MTU 9000") == 2


def test_the_html_has_the_same_text_escaped():
    page = CHANGES._repr_html_()
    for words in ("cable, full, MTU 9000: right", "- net.ipv4.tcp_sack = 1", "left Linux in 4.12"):
        assert words in page
    assert "<B>" not in page and "&lt;B&gt;" in page


def test_the_commands_are_those_of_the_changes_under_a_comment_for_each_host():
    queue = Knob(kind="txqueuelen", value="100", source="s")
    longer = Change(knob=queue, interface="eth0", old="1000", supported=True)
    equal = change("net.ipv4.tcp_sack", "0", "0")
    part = HostChanges("cable", "full", None, "left", (SACK, GONE, equal, longer))
    assert Changes((part,)).commands().splitlines() == [
        "# cable, full, MTU as found: left",
        "sysctl -w net.ipv4.tcp_sack=0",
        "ip link set dev eth0 txqueuelen 100",
    ]


def test_the_frame_has_a_row_a_knob():
    frame = CHANGES.frame
    assert tuple(frame.columns) == COLUMNS and len(frame) == 3
    assert frame["knob"].tolist() == [SACK.knob.label, GONE.knob.label, SACK.knob.label]
    assert frame["supported"].tolist() == [True, False, True]
    assert frame.loc[0, "old"] == "1" and frame.loc[0, "new"] == "0"


def test_without_a_tuning_there_are_no_changes():
    empty = Changes(())
    assert empty.frame.empty and tuple(empty.frame.columns) == COLUMNS
    assert repr(empty) in empty._repr_html_()


def test_a_site_is_a_path_and_shows_itself_as_a_link(tmp_path):
    site = Site(tmp_path / "a&b" / "index.html")
    assert repr(site) == os.fspath(site) == str(tmp_path / "a&b" / "index.html")
    assert "a&amp;b/index.html</a>" in site._repr_html_()
    address = f'<a href="{os.path.relpath(tmp_path)}/a%26b/index.html">'
    assert site._repr_html_().startswith(address) and 'href="file:///' in site._repr_html_()
