/**
 * A command's arguments with the placeholders `{prompt}`, `{system}`, `{session}` and `{budget}` (the rest of the
 * thread's `maxCost`, in US dollars). A nested list, such as `["--resume", "{session}"]`, is left out unless all of its
 * placeholders have a value.
 */
export type Template = readonly (string | readonly string[])[];

type Placeholder = "prompt" | "system" | "session" | "budget";

/** Matches a placeholder in an argument. */
export const placeholder = /\{(prompt|system|session|budget)\}/g;

/** Returns whether a template has a placeholder. */
export const has = (template: Template, name: Placeholder): boolean =>
  template.flat().some((part) => part.includes(`{${name}}`));

/** Fills in a template. A missing value is null. Placeholders within values are not replaced. */
export function filled(template: Template, values: Record<Placeholder, string | null>): string[] {
  const fill = (part: string): string =>
    part.replace(placeholder, (_, name: Placeholder) => values[name] ?? "");
  return template.flatMap((part) => {
    if (typeof part === "string") return [fill(part)];
    const names = [...part.join("\n").matchAll(placeholder)].map(([, name]) => name as Placeholder);
    return names.every((name) => values[name] !== null) ? part.map(fill) : [];
  });
}
