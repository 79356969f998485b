"""The names that a notebook uses: studies, results, fleets, published figures, a first transfer."""
