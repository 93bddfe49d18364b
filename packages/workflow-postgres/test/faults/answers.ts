import type { Orders } from "../../../workflow-restate/test/faults/commands.ts";

/** Returns a violation for each answer in a log that was never given or is repeated. */
export function unasked(lines: readonly string[], { given }: Pick<Orders, "given">): string[] {
  const inputs = lines
    .map((line) => JSON.parse(line) as { role: string; content: string; meta: { sleep?: true } })
    .filter(({ role, meta }) => role === "__input__" && meta.sleep !== true);
  const wrong = inputs.filter(
    ({ content }, n) =>
      !given.includes(content) || inputs.findIndex((one) => one.content === content) !== n,
  );
  return wrong.map(
    ({ content }) => `has the answer ${content}, which was never given or is repeated`,
  );
}
