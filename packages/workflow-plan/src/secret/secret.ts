import { maskOf } from "@uncaged/workflow/interpreter";
import type { Environment } from "@uncaged/workflow/host";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  emptySecret,
  invalidSecretName,
  reservedSecretName,
  secretsNotJson,
  secretsNotObject,
  secretsReadable,
} from "./errors.ts";

/** Credentials by the names of their variables. */
export type Secrets = Readonly<Record<string, string>>;

const fileName = "secrets.json";
const nameForm = /^[A-Z][A-Z0-9_]{0,63}$/;
const reserved = /^(PATH|HOME|SHELL|USER|IFS|(LD|DYLD|NODE|BUN|ANTHROPIC|UNCAGED)_.*)$/;
const offered = /(_TOKEN|_API_KEY|_SECRET|_PASSWORD)$|_WEBHOOK/;

/** Checks the name of a secret. @throws ConfigError for an invalid or reserved name */
export function checkSecretName(name: string): void {
  if (!nameForm.test(name)) throw invalidSecretName(name);
  if (reserved.test(name)) throw reservedSecretName(name);
}

/** Returns the names in an environment that the planner may offer as credentials. */
export const offeredNames = (env: Environment): string[] =>
  Object.keys(env).filter(
    (name) => offered.test(name) && nameForm.test(name) && !reserved.test(name) && env[name] !== "",
  );

/**
 * Reads the secrets of a plan home. A home without a file of secrets has no secrets.
 * @throws ConfigError when other users may read the file, or when the file is invalid.
 */
export function readSecrets(home: string): Secrets {
  const path = join(home, fileName);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) return {};
  if ((stats.mode & 0o077) !== 0) throw secretsReadable(path);
  return parsed(readFileSync(path, "utf8"), path);
}

function parsed(text: string, path: string): Secrets {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw secretsNotJson(path);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw secretsNotObject(path);
  }
  for (const [name, secret] of Object.entries(value)) {
    if (typeof secret !== "string" || secret === "") throw emptySecret(path, name);
    checkSecretName(name);
  }
  return value as Secrets;
}

/** Returns the credentials of an environment, recognized by their names. */
export const credentialsOf = (env: Environment): Secrets =>
  Object.fromEntries(offeredNames(env).map((name) => [name, env[name] ?? ""]));

/**
 * Returns the credentials available to steps: stored credentials, and credentials of an environment.
 * @throws ConfigError
 */
export const credentialsIn = (home: string, env: Environment): Secrets => ({
  ...credentialsOf(env),
  ...readSecrets(home),
});

/** Returns the secrets whose names occur as words in texts. A step or a script gets only these secrets. */
export function secretsFor(texts: readonly string[], secrets: Secrets): Secrets {
  const text = texts.join("\n");
  const isNamed = (name: string) =>
    new RegExp(`(?<![A-Za-z0-9_])${name}(?![A-Za-z0-9_])`).test(text);
  return Object.fromEntries(Object.entries(secrets).filter(([name]) => isNamed(name)));
}

/** Replaces each secret's value (from 6 characters on) in the texts of a JSON value by `[secret:NAME]`. */
export const withoutSecrets = <T>(value: T, secrets: Secrets): T =>
  maskOf({}, [], secrets).value(value) as T;

const base = /^(PATH|HOME|LANG|LC_\w+|TERM|TMPDIR|UNCAGED_WORKFLOW_WORKER)$/;
const network = /^(https?|no|all)_proxy$|^(SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS)$/i;
const model = /^(ANTHROPIC_.*|CLAUDE_CODE_.*|CLAUDE_CONFIG_DIR)$/;

/**
 * Returns the part of an environment that every step or script gets. The only credential in it belongs to the model.
 */
export const baseEnv = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && [base, network, model].some((allowed) => allowed.test(entry[0])),
    ),
  );
