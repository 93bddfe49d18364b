import type { Descriptor } from "@uncaged/workflow";
import type { RoleEntry } from "./role.ts";

/**
 * The descriptor of a bundle, from the roles that it plays.
 *
 *     export const descriptor = describe("Solves an issue", { planner, coder });
 *
 * A role that was not made by `role` is given by its entry: `{description, schema}`.
 */
export function describe(
  description: string,
  roles: Readonly<Record<string, { readonly descriptor: RoleEntry } | RoleEntry>>,
): Descriptor {
  const entries = Object.entries(roles).map(([name, given]) => [
    name,
    "descriptor" in given ? given.descriptor : given,
  ]);
  return { description, roles: Object.fromEntries(entries) };
}
