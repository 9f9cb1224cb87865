"""Airflow DAG: scores the conversations of each day on Dataflow, early the next morning.

Set the Airflow variables `turnwise_project`, `turnwise_region` and `turnwise_bucket`, and the image that
`deploy/build.sh` pushed in `turnwise_image`. Copy `deploy/launch.py` to gs://BUCKET/turnwise/. Airflow's
environment needs `apache-airflow-providers-apache-beam[google]` and `turnwise[gcp]`. A day that is run again,
by a retry or a backfill, replaces its own results.
"""

from datetime import datetime, timedelta

from airflow import DAG
from airflow.providers.apache.beam.operators.beam import BeamRunPythonPipelineOperator
from airflow.providers.google.cloud.operators.dataflow import DataflowConfiguration

BUCKET = "gs://{{ var.value.turnwise_bucket }}"

with DAG(
    "turnwise_nightly",
    schedule="0 3 * * *",
    start_date=datetime(2026, 11, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=15)},
) as dag:
    # The operator runs launch.py in Airflow's worker, which waits for the job. A missed gate fails the task.
    BeamRunPythonPipelineOperator(
        task_id="score",
        runner="DataflowRunner",
        py_file=f"{BUCKET}/turnwise/launch.py",
        pipeline_options={
            "date": "{{ ds }}",
            "lookback": "2",
            "input": f"{BUCKET}/logs/dt={{date}}/",
            "eval_cases": f"{BUCKET}/cases/",
            "config": f"{BUCKET}/turnwise/config.json",
            "output": f"{BUCKET}/scores/dt={{date}}",
            "temp_location": f"{BUCKET}/tmp",
            "sdk_container_image": "{{ var.value.turnwise_image }}",
            "max_num_workers": "4",
        },
        dataflow_config=DataflowConfiguration(
            job_name="turnwise-{{ ds_nodash }}",
            project_id="{{ var.value.turnwise_project }}",
            location="{{ var.value.turnwise_region }}",
        ),
    )
