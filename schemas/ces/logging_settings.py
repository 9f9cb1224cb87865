"""Settings for logging and exporting an app's conversations."""

from turnwise.schemas.proto.fields import Bool, Duration, Text
from turnwise.schemas.proto.json import Message


class RedactionConfig(Message):
    """Settings of redaction."""

    enable_redaction: Bool = False
    inspect_template: Text = ""
    deidentify_template: Text = ""


class AudioRecordingConfig(Message):
    """Storage of audio."""

    gcs_bucket: Text = ""
    gcs_path_prefix: Text = ""


class BigQueryExportSettings(Message):
    """Export to BigQuery."""

    enabled: Bool = False
    project: Text = ""
    dataset: Text = ""


class CloudLoggingSettings(Message):
    """Cloud Logging."""

    enable_cloud_logging: Bool = False


class ConversationLoggingSettings(Message):
    """History of conversations."""

    disable_conversation_logging: Bool = False
    retention_window: Duration | None = None
    """Absent: 365 days."""


class MetricAnalysisSettings(Message):
    """Analysis of conversations by a model."""

    llm_metrics_opted_out: Bool = False


class LoggingSettings(Message):
    """Settings for conversations, audio and analysis."""

    redaction_config: RedactionConfig | None = None
    audio_recording_config: AudioRecordingConfig | None = None
    unredacted_audio_recording_config: AudioRecordingConfig | None = None
    bigquery_export_settings: BigQueryExportSettings | None = None
    unredacted_bigquery_export_settings: BigQueryExportSettings | None = None
    cloud_logging_settings: CloudLoggingSettings | None = None
    conversation_logging_settings: ConversationLoggingSettings | None = None
    evaluation_audio_recording_config: AudioRecordingConfig | None = None
    metric_analysis_settings: MetricAnalysisSettings | None = None
