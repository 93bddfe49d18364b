import { WorkflowError } from "@uncaged/workflow/host";
import { jsonValue } from "./json.ts";
import { textOrStdin } from "./text.ts";

/** An answer to a waiting thread: its text, what it is as JSON when it is JSON, and the question's token. */
export type Input = { content: string; value?: unknown; meta?: { token: string } };

/**
 * The answer that `--input` and `--token` give, or undefined for none.
 *
 * @throws WorkflowError `BAD_OPTION` (usage) for a token without an answer.
 */
export async function inputOf(
  text: string | undefined,
  token?: string,
): Promise<Input | undefined> {
  if (text === undefined && token === undefined) return undefined;
  if (text === undefined) throw tokenAlone();
  const content = await textOrStdin(text, "--input");
  const value = jsonValue(content);
  return {
    content,
    ...(value === undefined ? {} : { value }),
    ...(token === undefined ? {} : { meta: { token } }),
  };
}

function tokenAlone(): WorkflowError {
  return new WorkflowError({
    code: "BAD_OPTION",
    kind: "usage",
    message: "--token belongs to an answer, and there is none",
    hint: "give the answer too: --input TEXT",
  });
}
