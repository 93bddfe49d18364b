import type { showVersion } from "@uncaged/workflow/host";

/** What a form that starts a thread of a version must ask for. */
export function formOf(version: Awaited<ReturnType<typeof showVersion>>) {
  const { workflow, hash, descriptor } = version;
  const { description = "", input = null } = descriptor ?? {};
  return { workflow, hash, description, input };
}
