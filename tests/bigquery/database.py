"""The tables of the service, which DuckDB keeps; it executes the SQL, too."""

import re
import tempfile
import threading
from typing import Any

import duckdb

from tests.bigquery.errors import Trouble, not_found

_TYPES = {"STRING": "VARCHAR", "INTEGER": "BIGINT", "FLOAT": "DOUBLE", "DATE": "DATE", "BOOLEAN": "BOOLEAN"}


class Database:
    """Tables by name.

    Attributes:
        bucket: Folder whose files are those of Cloud Storage.
        tables: Name -> resource; its reference and type may be left out.
        refused_rows: Start of the name of a table -> message of the load jobs into it.
        failing_sql: (text, message, times): statements with the text fail so.
        views: Statements that made a view, as they were sent.
    """

    def __init__(self, project, dataset, bucket):
        self.project, self.dataset, self.bucket = project, dataset, bucket
        self.own_name = dataset
        self.lock = threading.RLock()
        self.duckdb = duckdb.connect()
        self.duckdb.execute("SET TimeZone = 'UTC'")
        self.duckdb.execute(f'CREATE SCHEMA "{dataset}"')
        self.tables: dict[str, dict[str, Any]] = {}
        self.refused_rows: dict[str, str] = {}
        self.failing_sql: tuple[str, str, int] = ("", "", 0)
        self.views: list[str] = []

    def rows(self, table, order="ALL"):
        return self.select(f'SELECT * FROM "{self.dataset}"."{table}" ORDER BY {order}')

    def select(self, sql):
        """Returns the rows of a query; the dataset is the default one."""
        with self.lock:
            self.duckdb.execute(f'USE "{self.own_name}"').execute(sql)
            return self._found()

    def create(self, name, resource):
        if name in self.tables:
            raise Trouble(409, "duplicate", f"Already Exists: Table {name}")
        columns = ", ".join(
            f'"{field["name"]}" {_TYPES[field["type"]]}{"[]" if field.get("mode") == "REPEATED" else ""}'
            for field in resource["schema"]["fields"]
        )
        self.duckdb.execute(f'CREATE TABLE "{self.dataset}"."{name}" ({columns})')
        self.tables[name] = resource

    def resource(self, dataset, name):
        if name not in self.tables or dataset != self.dataset:
            raise not_found("Table", f"{self.project}:{dataset}.{name}")
        reference = {"projectId": self.project, "datasetId": dataset, "tableId": name}
        return {"tableReference": reference, "type": "TABLE", **self.tables[name]}

    def delete(self, name):
        self.duckdb.execute(f'DROP TABLE "{self.dataset}"."{name}"')
        del self.tables[name]

    def load(self, load, content):
        """Does a load job; returns the number of rows."""
        target = load["destinationTable"]
        name = target["tableId"]
        self.resource(target["datasetId"], name)
        for start, message in self.refused_rows.items():
            if name.startswith(start):
                raise ValueError(message)
        assert load["sourceFormat"] == "PARQUET" and load["parquetOptions"]["enableListInference"]
        assert load["writeDisposition"] == "WRITE_APPEND"
        contents = [content] if content is not None else map(self._object, load["sourceUris"])
        count = 0
        for each in contents:
            with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
                file.write(each)
                file.flush()
                insert = f'INSERT INTO "{target["datasetId"]}"."{name}" BY NAME SELECT * FROM read_parquet(?)'
                [inserted] = self.duckdb.execute(insert, [file.name]).fetchone() or [0]
                count += inserted
        return count

    def _object(self, uri):
        path = self.bucket / uri.removeprefix("gs://")
        if not path.is_file():
            raise ValueError(f"Not found: URI {uri}")
        return path.read_bytes()

    def query(self, configuration):
        """Does a query job of several statements; returns the rows of the last one, if it selects."""
        query = configuration["query"]
        assert query["useLegacySql"] is False
        named = query.get("queryParameters", ())
        values = {each["name"]: each["parameterValue"]["value"] for each in named}
        self.views += [text for text in query["query"].split(";") if "CREATE OR REPLACE VIEW" in text]
        sql = re.sub(rf"`{self.project}\.(\w+)\.(\w+)`", r'"\1"."\2"', query["query"]).replace("`", '"')
        statements = [each.strip() for each in sql.replace("@", "$").split(";") if each.strip()]
        if configuration.get("dryRun"):
            for statement in statements:
                self.duckdb.execute(f"EXPLAIN {statement}")
            return []
        try:
            for statement in statements:
                self._execute(statement, values)
        except Exception:
            if "BEGIN TRANSACTION" in statements:
                self.duckdb.execute("ROLLBACK")
            raise
        return self._found() if statements[-1].startswith("SELECT") else []

    def _found(self):
        """Returns the rows of the statement before."""
        names = [column[0] for column in self.duckdb.description or ()]
        return [dict(zip(names, row, strict=True)) for row in self.duckdb.fetchall()]

    def _execute(self, statement, values):
        text, message, times = self.failing_sql
        if times and text in statement:
            self.failing_sql = (text, message, times - 1)
            raise ValueError(message)
        used = {name: value for name, value in values.items() if f"${name}" in statement}
        self.duckdb.execute(statement, used)
        if view := re.match(r'CREATE (?:OR REPLACE )?VIEW "\w+"\."(\w+)"', statement):
            self.tables[view[1]] = {"type": "VIEW", "schema": {"fields": []}}
