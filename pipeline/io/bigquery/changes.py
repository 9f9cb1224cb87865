"""When rows of a table changed last."""

from turnwise.pipeline.io.bigquery.client import REQUEST_SECONDS, one_line, open_rows_client, patient
from turnwise.pipeline.io.bigquery.query import PATIENCE, find_table
from turnwise.pipeline.settings.options import RowsAddress, parse_address
from turnwise.schemas.config import ConfigError
from turnwise.schemas.run import InputFile

_IDS = {"HOUR": "%Y%m%d", "DAY": "%Y%m%d", "MONTH": "%Y%m", "YEAR": "%Y"}
_PARTITION = """
SELECT SUM(total_logical_bytes) AS bytes, MAX(last_modified_time) AS changed
FROM `{dataset}.INFORMATION_SCHEMA.PARTITIONS`
WHERE table_name = '{table}' AND STARTS_WITH(partition_id, '{start}')
"""


def table_state(path: str) -> list[InputFile] | None:
    """Returns name, bytes and time of change of a table or its partition.

    Returns:
        One entry; none if there is no such table or partition; None: a query, of which this is not known.

    Raises:
        ConfigError: The table cannot be looked at.
    """
    from google.api_core.exceptions import NotFound

    address = parse_address(path)
    if not address.table:
        return None
    with one_line(address.shown, ConfigError):
        try:
            table = find_table(address)
        except NotFound:
            return []
        if address.partition is None:
            return [InputFile(path, table.num_bytes or 0, table.modified.isoformat())]
        partitioning = table.time_partitioning
        start = address.partition.strftime(_IDS[partitioning.type_ if partitioning else "DAY"])
        return _partition_state(address, start)


def _partition_state(address: RowsAddress, start: str) -> list[InputFile]:
    dataset, _, name = address.table.rpartition(".")
    sql = _PARTITION.format(dataset=dataset, table=name, start=start)
    client = open_rows_client(address.project)
    job = client.query(sql, retry=patient(PATIENCE), timeout=REQUEST_SECONDS)
    [row] = job.result(retry=patient(PATIENCE))
    changed = row["changed"]
    return [InputFile(address.shown, row["bytes"] or 0, changed.isoformat())] if changed else []
