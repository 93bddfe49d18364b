CREATE TABLE workflows (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  description   TEXT NOT NULL,
  trigger_json  TEXT NOT NULL,
  steps_json    TEXT NOT NULL,
  failure_policy_json TEXT NOT NULL,
  phase         TEXT NOT NULL DEFAULT 'planning',
  schema_version TEXT NOT NULL DEFAULT '1.0',
  metadata_json TEXT,
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
);

CREATE TABLE workflow_runs (
  id            TEXT PRIMARY KEY,
  workflow_id   TEXT NOT NULL REFERENCES workflows(id),
  trigger_data  TEXT,
  status        TEXT NOT NULL DEFAULT 'running',
  started_at    TEXT NOT NULL,
  completed_at  TEXT,
  error         TEXT,
  duration_ms   INTEGER
);

CREATE TABLE step_runs (
  id            TEXT PRIMARY KEY,
  run_id        TEXT NOT NULL REFERENCES workflow_runs(id),
  step_id       TEXT NOT NULL,
  status        TEXT NOT NULL DEFAULT 'pending',
  output_json   TEXT,
  error         TEXT,
  started_at    TEXT,
  completed_at  TEXT,
  duration_ms   INTEGER
);

CREATE TABLE sessions (
  id            TEXT PRIMARY KEY,
  step_run_id   TEXT NOT NULL REFERENCES step_runs(id),  -- per-step session, not per-run
  sdk_session_id TEXT,                                    -- Claude Agent SDK session ID for resume
  created_at    TEXT NOT NULL,
  last_used_at  TEXT NOT NULL,
  is_active     INTEGER NOT NULL DEFAULT 1
);

CREATE TABLE trigger_state (
  workflow_id   TEXT PRIMARY KEY REFERENCES workflows(id),
  last_result   TEXT,
  last_check_at TEXT,
  last_fire_at  TEXT,              -- Last cron fire time (ISO 8601), used for cron dedup
  last_error    TEXT
);

-- Performance indexes for common queries
CREATE INDEX idx_workflows_phase ON workflows(phase);
CREATE INDEX idx_workflow_runs_status ON workflow_runs(status);
CREATE INDEX idx_workflow_runs_workflow_id ON workflow_runs(workflow_id);
CREATE INDEX idx_step_runs_run_id ON step_runs(run_id);
CREATE INDEX idx_step_runs_step_run ON step_runs(step_id, run_id);
CREATE INDEX idx_sessions_step_run_id ON sessions(step_run_id);
