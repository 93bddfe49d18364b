import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of a command before its action. */

/** Wrong usage of a command. The hint shows the right usage. */
export const wrongUse = (message: string, hint?: string): WorkflowError =>
  WorkflowError.usage("BAD_OPTION", message, hint);

export const badOption = (option: string, value: string, hint: string): WorkflowError =>
  wrongUse(`${option} can't be ${show(value)}`, hint);

export const usage = (message: string, hint: string): WorkflowError =>
  WorkflowError.usage("USAGE", message, hint);

/** An address given as `--host` of `serve`. */
export const notAddress = (host: string): WorkflowError =>
  wrongUse(
    `--host names the store, so it can't be the address ${show(host)}`,
    `listen on it: --listen ${/^[\w.:[\]-]+$/.test(host) ? host : "<address>"}`,
  );

/**
 * A command that does not work on a cluster or database. `chosenBy` is the option, variable or file that names it, and
 * `kind` is "cluster" or "database".
 */
export const notOnCluster = (
  command: string,
  { chosenBy, reason, kind }: { chosenBy: string; reason: string; kind: string },
): WorkflowError =>
  WorkflowError.usage(
    "NOT_ON_A_CLUSTER",
    `${command} does not work on a ${kind} (${chosenBy}): ${reason}`,
    "name a storage root: --root <dir>",
  );

export const folderGone = (): WorkflowError =>
  WorkflowError.failed(
    "FOLDER_GONE",
    "the current folder of this command was deleted",
    "go to another folder: cd ~",
  );
