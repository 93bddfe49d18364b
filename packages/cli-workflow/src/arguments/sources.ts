import type { SourceKind } from "@uncaged/workflow/host";
import type { Session } from "../program/session.ts";

/**
 * The kinds of sources that a file may be, beside TypeScript. What makes a bundle of a step workflow is
 * loaded for a file that may be one; its warnings are told as remarks.
 */
export async function sourcesFor(session: Session, file: string): Promise<SourceKind[]> {
  if (!/\.(json|ya?ml)$/i.test(file)) return [];
  const { stepsSource } = await import("@uncaged/workflow-steps/source");
  return [stepsSource((warning) => session.note(`warning: ${warning}`))];
}
