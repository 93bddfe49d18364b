import { type Host, WorkflowError } from "@uncaged/workflow/host";
import { checkAnswerer, preparedBundle } from "@uncaged/workflow/internal";

/** Environment variable with the token of a server. A command line would show it to other users. */
const tokenVariable = "UNCAGED_WORKFLOW_TOKEN";

/** Tells whether a host's URL is the address of a server (`serve`), not of a cluster. */
export const isServerUrl = (url: string): boolean => /^https?:\/\//i.test(url);

/**
 * Connects to a server. Builds files on this machine before sending them. `root` is the storage root of this machine:
 * processes of its workers may not send answers.
 * @throws WorkflowError the errors of `openRemoteHost`.
 */
export async function openedServer(
  url: string,
  env: Record<string, string>,
  root: string,
): Promise<Host> {
  const { openRemoteHost } = await import("@uncaged/workflow/client");
  return await openRemoteHost(url, {
    token: env[tokenVariable] || undefined,
    prepare: preparedBundle,
    checkAnswer: () => checkAnswerer(root),
  });
}

/** A command that does not work on a server. `chosenBy` is the option or variable that names the server. */
export const notOnServer = (
  command: string,
  { chosenBy, reason }: { chosenBy: string; reason: string },
): WorkflowError =>
  WorkflowError.usage(
    "NOT_ON_A_SERVER",
    `${command} does not work on a server (${chosenBy}): ${reason}`,
    "name a storage root: --root <dir>",
  );
