# Looker: the tables that `turnwise run --store bigquery://PROJECT/DATASET` writes.
# Name your connection; the dataset is its default one. Copy this file into a project of LookML.
# Filters by date prune partitions, and every explore has one.
connection: "bigquery"
label: "turnwise"

explore: verdicts {
  description: "Verdicts and criteria by day, app version and criterion"
  always_filter: { filters: [verdicts.day_date: "30 days", verdicts.criterion: "verdict"] }
}

explore: conversations {
  description: "Conversations, and what went wrong in them"
  always_filter: { filters: [conversations.day_date: "30 days"] }
}

explore: failures {
  description: "What was rejected, and findings"
  always_filter: { filters: [failures.day_date: "30 days"] }
}

view: verdicts {
  sql_table_name: metrics_by_app_version ;;
  dimension_group: day { type: time timeframes: [date, week, month] datatype: date convert_tz: no sql: ${TABLE}.date ;; }
  dimension: app_version { sql: COALESCE(${TABLE}.app_version, 'unknown') ;; }
  dimension: criterion { description: "verdict counts the verdicts of conversations" sql: ${TABLE}.criterion ;; }
  dimension: level { description: "turn, or conversation" sql: ${TABLE}.level ;; }
  dimension: run_id { sql: ${TABLE}.run_id ;; }
  measure: passed { type: sum sql: ${TABLE}.pass_count ;; }
  measure: failed { type: sum sql: ${TABLE}.fail_count ;; }
  measure: without { label: "Without a score" type: sum sql: ${TABLE}.no_score ;; }
  measure: scores { type: sum sql: ${TABLE}.count ;; }
  measure: pass_rate {
    description: "Passed in passed and failed; what has no score is in `without_share`"
    type: number value_format_name: percent_1 sql: ${passed} / NULLIF(${passed} + ${failed}, 0) ;;
  }
  measure: without_share { type: number value_format_name: percent_1 sql: ${without} / NULLIF(${scores}, 0) ;; }
  measure: weighted_sum { hidden: yes type: sum sql: ${TABLE}.mean * ${TABLE}.scored ;; }
  measure: scored { hidden: yes type: sum sql: CASE WHEN ${TABLE}.mean IS NOT NULL THEN ${TABLE}.scored END ;; }
  measure: mean { description: "Of one criterion" type: number value_format_name: decimal_3 sql: ${weighted_sum} / NULLIF(${scored}, 0) ;; }
  measure: runs { description: "More than one a date: another config scored it again" type: count_distinct sql: ${TABLE}.run_id ;; }
}

view: conversations {
  sql_table_name: conversations ;;
  dimension_group: day { type: time timeframes: [date, week, month] datatype: date convert_tz: no sql: ${TABLE}.date ;; }
  dimension: conversation_id { sql: ${TABLE}.conversation_id ;; }
  dimension: app_version { sql: COALESCE(${TABLE}.app_version, 'unknown') ;; }
  dimension: verdict { sql: COALESCE(${TABLE}.verdict, 'none') ;; }
  dimension: severity { sql: ${TABLE}.severity ;; }
  dimension: severity_score { type: number sql: ${TABLE}.severity_score ;; }
  dimension: problem { sql: COALESCE(${TABLE}.problem_label, ${TABLE}.reason) ;; }
  dimension: why { sql: ${TABLE}.why ;; }
  dimension: language { sql: ${TABLE}.language ;; }
  dimension: ended { sql: ${TABLE}.ended ;; }
  dimension: run_id { sql: ${TABLE}.run_id ;; }
  measure: number { type: count }
  measure: to_read { type: sum sql: CASE WHEN ${TABLE}.severity_score > 0 THEN 1 ELSE 0 END ;; }
  measure: turns { type: sum sql: ${TABLE}.turns ;; }
  measure: tool_calls { type: sum sql: ${TABLE}.tool_calls ;; }
  measure: tool_errors { type: sum sql: ${TABLE}.tool_errors ;; }
  measure: tokens { type: sum sql: ${TABLE}.tokens_in + ${TABLE}.tokens_out ;; }
}

view: failures {
  sql_table_name: failures ;;
  dimension_group: day { type: time timeframes: [date, week, month] datatype: date convert_tz: no sql: ${TABLE}.date ;; }
  dimension: stage { description: "check: a finding, all others are rejected" sql: ${TABLE}.stage ;; }
  dimension: error_type { sql: ${TABLE}.error_type ;; }
  dimension: message { sql: ${TABLE}.message ;; }
  dimension: source { sql: ${TABLE}.source ;; }
  dimension: app_version { sql: COALESCE(${TABLE}.app_version, 'unknown') ;; }
  measure: number { type: count }
  measure: rejected { type: sum sql: CASE WHEN ${TABLE}.stage <> 'check' THEN 1 ELSE 0 END ;; }
}
