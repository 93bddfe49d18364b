import { jsonValue } from "./json.ts";
import { textOrStdin } from "./text.ts";

/** An answer to a waiting thread: its text, and what it is as JSON when it is JSON. */
export type Input = { content: string; value?: unknown };

/** The answer that `--input` gives, or undefined for none. */
export async function inputOf(text: string | undefined): Promise<Input | undefined> {
  if (text === undefined) return undefined;
  const content = await textOrStdin(text, "--input");
  const value = jsonValue(content);
  return value === undefined ? { content } : { content, value };
}
