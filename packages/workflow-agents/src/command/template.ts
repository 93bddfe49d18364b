import { type ThreadContext, WorkflowError } from "@uncaged/workflow";

/**
 * A command's argv with `{prompt}`, `{system}`, `{session}` and `{budget}` in it: what is left of the
 * thread's `maxCost`, in US dollars. A list inside it stands for its arguments when all of its
 * placeholders have a value, and for nothing otherwise: `["--resume", "{session}"]`.
 */
export type Template = readonly (string | readonly string[])[];

const filledIn = /\{(prompt|system|session|budget)\}/;

/** What stands for the placeholders; null for one that has no value. */
export type Values = Record<Placeholder, string | null>;
type Placeholder = "prompt" | "system" | "session" | "budget";

const placeholder = /\{(prompt|system|session|budget)\}/g;

/** Whether a template has a placeholder. */
export const has = (template: Template, name: Placeholder): boolean =>
  template.flat().some((part) => part.includes(`{${name}}`));

/** The argv that a template makes. A value's own braces stay what they are. */
export function filled(template: Template, values: Values): string[] {
  return template.flatMap((part) => {
    if (typeof part === "string") return [fill(part, values)];
    const isWhole = [...part.join("\n").matchAll(placeholder)].every(
      ([, name]) => values[name as Placeholder] !== null,
    );
    return isWhole ? part.map((one) => fill(one, values)) : [];
  });
}

const fill = (part: string, values: Values): string =>
  part.replace(placeholder, (_, name: Placeholder) => values[name] ?? "");

/**
 * What a thread is to a command: the user's prompt and what each role said. One that goes on with a
 * session knows the first `known` steps already and is told the others.
 */
export function threadText(ctx: ThreadContext, known: number): string {
  const steps = ctx.steps.slice(known).map(({ role, content }, at) => {
    return `<step number="${known + at + 1}" role="${role}">\n${content}\n</step>`;
  });
  const prompt = known === 0 ? [ctx.start.content.trim() || "(no prompt)"] : [];
  const parts = [...prompt, ...steps];
  return parts.length > 0 ? parts.join("\n\n") : "Go on.";
}

/** @throws WorkflowError `BAD_COMMAND` when a template can't be run. */
export function checkTemplate(template: Template, prompt: "stdin" | "argument"): void {
  const [command] = template;
  const problem =
    typeof command !== "string" || command === "" || filledIn.test(command)
      ? "its argv must begin with the command's name"
      : prompt === "stdin" && has(template, "prompt")
        ? "its argv has {prompt}, and the prompt is given by stdin"
        : prompt === "argument" && !has(template, "prompt")
          ? "its argv has no {prompt}, and the prompt is an argument"
          : null;
  if (problem === null) return;
  const message = `a command agent can't be run: ${problem}`;
  const hint = "mend commandAgent's options";
  throw new WorkflowError({ code: "BAD_COMMAND", kind: "usage", message, hint });
}
