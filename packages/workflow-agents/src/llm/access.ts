import { type Target, ProviderError } from "./error.ts";

/**
 * Judges an address and a key before they are used: what a client says of them tells nobody what to mend.
 *
 * @throws ProviderError `LLM_BAD_REQUEST` when the base URL is none, `LLM_AUTH` when a key can't be one.
 */
export function checkAccess({ provider, baseUrl, secrets }: Target): void {
  if (!/^https?:\/\/./i.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new ProviderError("LLM_BAD_REQUEST", `${provider} has an address that is no URL`, {
      hint: "mend the agent's baseUrl, or the base URL in the thread's environment: http(s)://…",
    });
  }
  if (secrets.every((secret) => /^[\x21-\x7e]+$/.test(secret))) return;
  throw new ProviderError("LLM_AUTH", `the key for ${provider} has a character that no key has`, {
    hint: "set the key again: a line break, a space or a letter that is not ASCII has got into it",
  });
}

const name = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const value = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The headers that a variable of the thread's environment adds to each request: a line each, as the
 * providers' own clients read it (`X-Gateway: blue`).
 *
 * @throws ProviderError `LLM_BAD_REQUEST` when a line is no header.
 */
export function headersIn(
  env: Readonly<Record<string, string>>,
  variable: string,
): Record<string, string> {
  const lines = (env[variable] ?? "").split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const [first = "", ...rest] = line.split(":");
      const header = [first.trim(), rest.join(":").trim()] as const;
      if (rest.length > 0 && name.test(header[0]) && value.test(header[1])) return header;
      throw new ProviderError("LLM_BAD_REQUEST", `${variable} has a line that is no header`, {
        hint: `give ${variable} a line for each header, as X-Gateway: blue, or unset it`,
      });
    }),
  );
}

/**
 * Makes a provider's client. It would read what it is not told from its process's environment, which is
 * that of another shell than the thread's: there is none while it is made.
 */
export function made<Client>(make: () => Client): Client {
  const { env } = process;
  process.env = {};
  try {
    return make();
  } finally {
    process.env = env;
  }
}
