"""netlab measured against known rates (calibration) and against its peers (bench)."""
