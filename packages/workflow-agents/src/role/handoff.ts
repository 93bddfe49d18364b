import { globalRegistry } from "zod/v4/core";
import { enum as oneOf, optional, type ZodMiniEnum, type ZodMiniOptional } from "zod/mini";
import type { RoleEntry } from "./role.ts";
import { badHandoffRole, noHandoffRole } from "./errors.ts";

/** The names of the moderator's roles that may run next, optionally with descriptions or roles. */
export type HandoffRoles<Name extends string> =
  | readonly Name[]
  | Readonly<Record<Name, string | { readonly descriptor: RoleEntry }>>;

/**
 * Returns the schema of an optional field in which a model chooses the next role. The moderator reads the field as
 * `meta.handoff`.
 *
 *     schema: z.object({ handoff: handoff({ coder: "writes the code", reviewer: "reviews it" }) }),
 *     moderator: ({ steps }) => (steps.length === 0 ? "planner" : (steps.at(-1)?.meta.handoff ?? END)),
 *
 * @throws WorkflowError `BAD_HANDOFF` without names, and for an invalid role name.
 */
export function handoff<const Name extends string>(
  roles: HandoffRoles<Name>,
): ZodMiniOptional<ZodMiniEnum<{ [K in Name]: K }>> {
  const entries: [string, string][] = Array.isArray(roles)
    ? (roles as string[]).map((name) => [name, ""])
    : Object.entries(roles).map(([name, about]) => [name, textOf(about)]);
  const names = entries.map(([name]) => name);
  const bad = names.find((name, at) => !/^(?!__)\S/.test(name) || names.indexOf(name) !== at);
  if (bad !== undefined) throw badHandoffRole(bad);
  if (names.length === 0) throw noHandoffRole();
  const list = entries.map(([name, about]) => (about ? `${name} (${about})` : name)).join(", ");
  const description = `The role that continues after you, if any: ${list}. Omit it when the work is done.`;
  const field = optional(oneOf(names as [Name, ...Name[]]));
  globalRegistry.add(field, { description });
  return field;
}

const textOf = (about: unknown): string =>
  typeof about === "string" ? about : (about as { descriptor: RoleEntry }).descriptor.description;
