import { type Target } from "./error.ts";
import { addressNotUrl, keyMalformed, notHeader } from "./errors.ts";

/** The address of a provider, and its timeouts. */
export type Access = {
  apiKey?: string;
  baseUrl?: string;
  /** Timeout until the start of an answer, for each try, in milliseconds (10 minutes). */
  timeoutMs?: number;
  /** Maximum silence within an answer, in milliseconds (4 minutes). */
  silenceMs?: number;
  /** Maximum number of retries of a call, unless the role sets it (2). */
  maxRetries?: number;
  /** Maximum number of characters in one answer: text, thinking and tool calls together (16 Mi). */
  maxAnswerLength?: number;
};

export type Patience = Required<Omit<Access, "apiKey" | "baseUrl">>;

export const patienceOf = (access: Access): Patience => ({
  timeoutMs: access.timeoutMs ?? 600_000,
  silenceMs: access.silenceMs ?? 240_000,
  maxRetries: access.maxRetries ?? 2,
  maxAnswerLength: access.maxAnswerLength ?? 16 * 2 ** 20,
});

/** Checks an address and a key before their use, because the errors of model clients do not name the cause. */
export function checkAccess({ provider, baseUrl, secrets }: Target): void {
  if (!/^https?:\/\/./i.test(baseUrl) || !URL.canParse(baseUrl)) throw addressNotUrl(provider);
  if (!secrets.every((secret) => /^[\x21-\x7e]+$/.test(secret))) throw keyMalformed(provider);
}

const headerLine = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([\t\x20-\x7e\x80-\xff]*?)\s*$/;

/** Returns the headers in an environment variable of the thread, which has one header per line (`X-Gateway: blue`). */
export function headersIn(
  env: Readonly<Record<string, string>>,
  variable: string,
): Record<string, string> {
  const lines = (env[variable] ?? "").split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value = ""] = headerLine.exec(line) ?? [];
      if (name !== undefined) return [name, value];
      throw notHeader(variable);
    }),
  );
}

/**
 * Creates a model client in an empty environment. Otherwise the client would read the environment of this process,
 * which may belong to another shell.
 */
export function withoutEnv<Client>(create: () => Client): Client {
  const { env } = process;
  process.env = {};
  try {
    return create();
  } finally {
    process.env = env;
  }
}
