import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of a PostgreSQL database. `place` is the host, port and database name, without user and password. */

export const badUrl = (reason: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_HOST",
    `invalid database URL: ${reason}`,
    "write it as postgres://user@host:5432/database?schema=name, and the password in PGPASSWORD",
  );

export const unreachable = (place: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "NO_DATABASE",
    `the database ${place} can't be reached: ${reasonOf(cause)}`,
    "see whether PostgreSQL runs there and accepts connections from this machine",
    cause,
  );

export const tlsFailed = (place: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "DATABASE_TLS",
    `no TLS connection to the database ${place}: ${reasonOf(cause)}`,
    "check sslmode and sslrootcert in the URL, and the certificate of the server",
    cause,
  );

/** A file that the URL names, such as a certificate, can't be read. */
export const fileUnreadable = (cause: unknown): WorkflowError =>
  badUrl(`a file in it can't be read: ${reasonOf(cause)}`);

export const loginRefused = (
  place: string,
  cause: unknown,
  reason = reasonOf(cause),
): WorkflowError =>
  WorkflowError.failed(
    "DATABASE_LOGIN",
    `the database ${place} refuses the login: ${reason}`,
    /no encryption|SSL off/.test(reason)
      ? "use TLS: add ?sslmode=verify-full or ?sslmode=require to the URL"
      : "check the user and the password: in the URL, in PGPASSWORD or in ~/.pgpass",
    cause,
  );

export const databaseMissing = (place: string, cause: unknown): WorkflowError =>
  WorkflowError.missing(
    "NO_DATABASE",
    `no database ${place} found`,
    "create it with createdb, or correct the URL",
    cause,
  );

export const rightsMissing = (place: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "DATABASE_RIGHTS",
    `the user lacks rights in the database ${place}: ${reasonOf(cause)}`,
    "grant it CREATE on the database for the first use, and ownership of the schema",
    cause,
  );

export const readOnly = (place: string, cause?: unknown): WorkflowError =>
  WorkflowError.failed(
    "DATABASE_READ_ONLY",
    `the database ${place} is read-only, as a replica is`,
    "connect to the primary server",
    cause,
  );

export const databaseFull = (place: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "DISK_FULL",
    `the database ${place} can't write: ${reasonOf(cause)}`,
    "make room on the disk of the database server; nothing acknowledged is lost",
    cause,
  );

export const databaseFailed = (place: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "DATABASE_FAILED",
    `the database ${place} failed: ${reasonOf(cause)}`,
    "see the log of the database server",
    cause,
  );

export const encodingOther = (place: string, encoding: string): WorkflowError =>
  WorkflowError.failed(
    "DATABASE_ENCODING",
    `the database ${place} has the encoding ${encoding}, which can't hold every text`,
    "create a database with ENCODING 'UTF8'",
  );

export const serverTooOld = (place: string, version: string): WorkflowError =>
  WorkflowError.failed(
    "DATABASE_OLD",
    `the database ${place} is PostgreSQL ${version}`,
    "use PostgreSQL 14 or newer",
  );

function reasonOf(cause: unknown): string {
  const { message, code } = cause as { message?: string; code?: string };
  const [first = ""] = (message ?? "").split("\n");
  return first.replace(/:\s*$/, "") || code || "unknown reason";
}
