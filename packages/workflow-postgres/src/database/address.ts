import { badUrl } from "./errors.ts";

/** A PostgreSQL database, and the schema with the tables of this package. */
export type DatabaseAddress = {
  /** The URL for the driver, without this package's parameters. It may contain a password. */
  url: string;
  /** The name of the schema, `uncaged` by default. */
  schema: string;
  /** Host, port and database, for messages. */
  place: string;
};

const defaultSchema = "uncaged";
/** The environment variable with the password. The driver and libpq read it. */
export const passwordVariable = "PGPASSWORD";
/** PostgreSQL limits names to 63 bytes; the notification channel's name is the schema's name with a prefix. */
const schemaPattern = /^[a-z_][a-z0-9_]{0,49}$/;

/** Whether a text is the URL of a PostgreSQL database. */
export const isDatabaseUrl = (text: string): boolean => /^postgres(ql)?:\/\//i.test(text);

/**
 * Reads the URL of a database: `postgres://user@host:5432/database?schema=name`. Passes all other parameters to the
 * driver, for example `sslmode`, with its meaning in libpq, and `host`, the folder of a socket.
 * @throws WorkflowError `BAD_HOST`
 */
export function readDatabaseUrl(text: string, schema?: string): DatabaseAddress {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw badUrl("it is not a URL");
  }
  if (!isDatabaseUrl(text)) throw badUrl(`it begins with ${url.protocol}`);
  const own = url.searchParams.get("schema") ?? schema ?? defaultSchema;
  url.searchParams.delete("schema");
  if (!schemaPattern.test(own) || own.startsWith("pg_")) {
    throw badUrl(
      `the schema ${JSON.stringify(own)} is not a name of lower-case letters, digits and _`,
    );
  }
  // Messages hide only a password in the user part of the URL.
  for (const name of ["password", "sslpassword"]) {
    if (url.searchParams.has(name)) throw badUrl(`it has the parameter ${name}`);
  }
  readTls(url.searchParams);
  const host = url.searchParams.get("host") ?? url.hostname;
  // The driver would read them from environment variables, so one URL could mean different databases.
  if (host === "") throw badUrl("it names no host");
  if (url.pathname.length < 2) throw badUrl("it names no database");
  const port = url.port === "" ? "" : `:${url.port}`;
  return { url: url.href, schema: own, place: `${host}${port}${url.pathname}` };
}

/** Returns the URL of a database for messages and for `--host`: without the password and the driver's parameters. */
export function shownUrl({ url: given, schema }: DatabaseAddress): string {
  const url = new URL(given);
  url.password = "";
  for (const name of [...url.searchParams.keys()]) {
    if (name !== "host") url.searchParams.delete(name);
  }
  if (schema !== defaultSchema) url.searchParams.set("schema", schema);
  return url.href;
}

const tlsModes = ["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"];

/** Returns the URL for the driver. Adds `password` if the URL lacks a password. */
export function withPassword({ url: given }: DatabaseAddress, password = ""): string {
  const url = new URL(given);
  if (password === "" || url.password !== "" || url.searchParams.has("password")) return given;
  url.searchParams.set("password", password);
  return url.href;
}

/** Gives `sslmode` the meaning of libpq. The driver's meaning differs, and the driver warns about it on stderr. */
function readTls(parameters: URLSearchParams): void {
  const mode = parameters.get("sslmode");
  if (mode === null) return;
  if (!tlsModes.includes(mode)) throw badUrl(`the sslmode ${JSON.stringify(mode)} is unknown`);
  if (mode === "verify-ca" && !parameters.has("sslrootcert")) {
    throw badUrl("sslmode=verify-ca needs sslrootcert, the file of the authority's certificate");
  }
  if (mode !== "no-verify") parameters.set("uselibpqcompat", "true");
}
