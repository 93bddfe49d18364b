import { namesIn } from "../expression/expression.ts";
import { quoted } from "./fault.ts";
import type { CheckedStep, Subject } from "./subject.ts";
import { variablesWrittenBy } from "./target.ts";

/** Loops that lie in each other could ask for their bodies again and again: past this nothing is told. */
const mostVisits = 200_000;

/**
 * A loop whose body writes what it goes over: the source is evaluated again on resume, and would then be
 * another.
 */
export function tellsSourcesWrittenInLoops({ steps, outline }: Subject): void {
  const written = new Map(steps.map((step) => [step.id ?? "", variablesWrittenBy(step)]));
  let visits = 0;
  for (const step of steps) {
    const names = new Set(sourceNames(step));
    if (names.size === 0 || step.id === null) continue;
    const body = new Set<string>();
    for (const { kind, to } of outline.referencesOf(step.id)) if (kind === "child") body.add(to);
    for (const id of body) {
      if ((visits += 1) > mostVisits) return;
      const name = written.get(id)?.find((one) => names.has(one));
      if (name !== undefined) {
        const why = "a resumed loop would go over another list";
        step.warning(["source"], `source: ${quoted(id)} in the loop writes ${name}: ${why}`);
        break;
      }
      for (const { to } of outline.referencesOf(id)) if (to !== step.id) body.add(to);
    }
  }
}

function sourceNames({ type, fields: { source } }: CheckedStep): string[] {
  if (type !== "Loop" || typeof source !== "string" || !/^=(?!=)/.test(source)) return [];
  return namesIn(source.slice(1)).filter((name) => name.startsWith("$"));
}
