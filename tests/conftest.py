"""What holds for all tests: properties are tried on the same examples every time.

``make test PYTEST_ARGS=--hypothesis-profile=default`` tries new ones.
"""

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.load_profile("same")
