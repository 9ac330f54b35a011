-- One row a session. It stays when the session is removed, so that no epoch is ever given twice. Times are ms.
CREATE TABLE sessions (
  tenant text NOT NULL,
  id text NOT NULL,
  epoch bigint NOT NULL,
  owner text,                     -- incarnation of its owner; null: released
  last_seq bigint NOT NULL,
  prev text NOT NULL,             -- what the next record carries
  deleted_at bigint,              -- in the trash since
  purged_at bigint,               -- its records are gone since
  title text NOT NULL,
  cwd text NOT NULL,
  model text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  message_count bigint NOT NULL,
  parent text,
  meta text NOT NULL,             -- JSON
  search text NOT NULL,           -- title, id and cwd, a line each, in small letters
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70);         -- an append changes no index then

CREATE INDEX sessions_newest ON sessions (tenant, updated_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE INDEX sessions_newest_of_cwd ON sessions (tenant, cwd, updated_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE INDEX sessions_removed ON sessions (tenant, deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

-- The exact bytes of a record's line, without its newline.
CREATE TABLE records (
  tenant text NOT NULL,
  session text NOT NULL,
  seq bigint NOT NULL,
  epoch bigint NOT NULL,
  line bytea NOT NULL,
  PRIMARY KEY (tenant, session, seq)
);

-- Copies of lines that could not be read; the line itself stays where it is.
CREATE TABLE quarantine (
  tenant text NOT NULL,
  session text NOT NULL,
  seq bigint NOT NULL,
  hash text NOT NULL,
  reason text NOT NULL,
  line bytea NOT NULL,
  PRIMARY KEY (tenant, session, seq, hash)
);

-- One row a process that owns sessions here; expired or absent, what it owned may be taken over.
CREATE TABLE replicas (
  incarnation text PRIMARY KEY,
  name text NOT NULL,
  advertise text,                 -- where others may probe it
  beats bigint NOT NULL,
  expires_at timestamptz NOT NULL -- by this database's clock
);
