import type { RunValue } from "@uncaged/workflow/editing";
import { readDocument } from "./graph-document.ts";

/** Returns the placeholder of a run's value in an agent's prompt; null if no placeholder has that value. */
export function expressionOf(
  document: unknown,
  { node, part, path }: RunValue,
  field: string,
): string | null {
  const { nodes, lines } = readDocument(document);
  if (part === "output" && nodes.get(node)?.type === "approval") {
    if (path === "decision") return "{{APPROVAL_DECISION}}";
    return path === "note" ? "{{APPROVAL_NOTE}}" : null;
  }
  const leads = lines.some(({ source, target }) => source === node && target === field);
  const isPrevious = part === "input" ? field === node : part === "output" && leads;
  return isPrevious ? "{{PREVIOUS_OUTPUT}}" : null;
}
