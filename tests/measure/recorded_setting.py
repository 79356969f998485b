"""The setting of a run that is recorded."""

from netlab.measure.record import RunSetting

SETTING = RunSetting(1500, 2128.0, None, None, bus_shared=False, one_machine=False)
