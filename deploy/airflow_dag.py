"""Airflow DAG: scores the conversations of each day on Dataflow, early the next morning.

Set the Airflow variables `turnwise_bucket` and `turnwise_region`, and in `turnwise_image` the image that
`deploy/build.sh` pushed. The project is that of Airflow's Google Cloud connection. Copy `deploy/launch.py` to
gs://BUCKET/turnwise/. Airflow's environment needs `apache-airflow-providers-apache-beam[google]`,
`apache-airflow-providers-standard` and `turnwise[gcp]`, and an identity that may read and write the bucket.
A day that is run again, by a retry or a backfill, replaces its own results.
"""

from datetime import UTC, datetime, timedelta

from airflow import DAG
from airflow.providers.apache.beam.operators.beam import BeamRunPythonPipelineOperator
from airflow.providers.google.cloud.operators.dataflow import DataflowConfiguration
from airflow.providers.standard.operators.bash import BashOperator
from airflow.timetables.interval import CronDataIntervalTimetable

BUCKET = "gs://{{ var.value.turnwise_bucket }}"
# The day before the run. `ds` is the day of the run itself under Airflow 3, if the schedule is a text.
DAY = "{{ data_interval_start | ds }}"

with DAG(
    "turnwise_nightly",
    schedule=CronDataIntervalTimetable("0 3 * * *", timezone="UTC"),
    start_date=datetime(2026, 11, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 1, "retry_delay": timedelta(minutes=15)},
) as dag:
    # The operator runs launch.py in Airflow's worker, which waits for the job. A missed gate fails the task.
    score = BeamRunPythonPipelineOperator(
        task_id="score",
        runner="DataflowRunner",
        py_file=f"{BUCKET}/turnwise/launch.py",
        deferrable=False,
        pipeline_options={
            "date": DAY,
            "lookback": "2",
            # The first nights, and those after a day without traffic, pass.
            "empty_dates": "warn",
            "input": f"{BUCKET}/logs/dt={{date}}/",
            "eval_cases": f"{BUCKET}/cases/",
            "config": f"{BUCKET}/turnwise/config.json",
            "output": f"{BUCKET}/scores/dt={{date}}",
            "temp_location": f"{BUCKET}/tmp",
            "sdk_container_image": "{{ var.value.turnwise_image }}",
            "max_num_workers": "4",
        },
        dataflow_config=DataflowConfiguration(
            job_name="turnwise-{{ data_interval_start | ds_nodash }}",
            location="{{ var.value.turnwise_region }}",
        ),
    )
    # Fails unless a run of the day has ended since, and passed its gates, or there is nothing to score.
    status = BashOperator(
        task_id="status",
        bash_command=f"turnwise status {BUCKET}/scores/dt={DAY} --after {{{{ dag_run.start_date | ts }}}}"
        f" --input {BUCKET}/logs/dt={DAY}/",
        retries=0,
    )
    score >> status
