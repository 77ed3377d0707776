"""Run it: from a paid plan to noisy answers; only noise leaves."""
