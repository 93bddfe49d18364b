import { show, WorkflowError } from "@uncaged/workflow/host";
import { wrongUse } from "../session/failure.ts";
import { badOption } from "./options.ts";
import { readText, textOrStdin } from "./text.ts";

const optionName = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

/** The value of an option that takes JSON: the JSON itself, or `@file` for a file that holds it. */
export async function jsonOf(option: string, text: string): Promise<unknown> {
  const source = text.startsWith("@") ? await readText(text.slice(1), option) : text;
  try {
    return JSON.parse(source);
  } catch (error) {
    throw badJson(option, source, error);
  }
}

/**
 * Options of the form `name=value`, repeated: each value as JSON when it is JSON, else as the text. What
 * begins like JSON (`{`, `[` or `"`) and is none is refused.
 */
export function optionsOf(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = "", value = ""] = /^([^=]*)=([\s\S]*)$/.exec(pair) ?? [];
      if (optionName.test(name)) return [name, looseJson(`--option ${name}`, value)];
      throw badOption(
        "--option",
        pair,
        "give a name and its value: --option model=fast, or --option 'limit=3'",
      );
    }),
  );
}

/** A text as JSON when it is JSON, else itself. @throws WorkflowError `BAD_JSON` for what begins like JSON and is none. */
export function looseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (/^\s*[{["]/.test(text)) throw badJson(option, text, error);
    return text;
  }
}

function badJson(option: string, text: string, error: unknown): WorkflowError {
  const why = error instanceof Error ? error.message : String(error);
  return WorkflowError.usage(
    "BAD_JSON",
    `${option} is no JSON: ${show(text)} (${why})`,
    `quote it for the shell: ${option.split(" ")[0]} '{"key":"value"}'`,
  );
}

/** An answer to a waiting thread: its text, what it is as JSON when it is JSON, and the question's token. */
export type Input = { content: string; value?: unknown; meta?: { token: string } };

/** The answer that `--input` and `--token` give, or undefined for none. */
export async function inputOf(
  text: string | undefined,
  token?: string,
): Promise<Input | undefined> {
  if (text === undefined) {
    if (token === undefined) return undefined;
    const hint = "give the answer too: --input TEXT";
    throw wrongUse("--token belongs to an answer, and there is none", hint);
  }
  const content = await textOrStdin(text, "--input");
  return { content, ...valueOf(content), ...(token === undefined ? {} : { meta: { token } }) };
}

function valueOf(text: string): { value?: unknown } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return {};
  }
}
