import { LLMError } from "./error.ts";

const name = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const value = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The headers that a variable of the thread's environment adds to each request: a line each, as the
 * providers' own clients read it (`X-Gateway: blue`).
 *
 * @throws LLMError `LLM_BAD_REQUEST` when a line is no header.
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
      throw new LLMError("LLM_BAD_REQUEST", `${variable} has a line that is no header`, {
        hint: `give ${variable} a line for each header, as X-Gateway: blue, or unset it`,
      });
    }),
  );
}
