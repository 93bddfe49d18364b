import { ConfigError, ExecutorError } from "../error/error.ts";
import { withoutSandbox } from "../sandbox/errors.ts";

/* The errors of a step's surroundings: its sandbox, its agent, and the confirmation of its plan. */

export const commandMissing = (command: string): ConfigError =>
  new ConfigError(`the command ${JSON.stringify(command)} is not found on PATH`, {
    hint: "install it, or add its folder to PATH",
  });

/** An agent that can't be executed. `image` is the image of the container. */
export const agentNotRun = (
  command: string,
  problem: string,
  image: string | undefined,
): ConfigError =>
  new ConfigError(`the agent ${JSON.stringify(command)} can't run in the sandbox: ${problem}`, {
    hint: image
      ? `add it to the image ${image}, or name another agent: --agent`
      : "install it with an interpreter that is found on PATH, or name another agent: --agent",
  });

export const mountsNotList = (): ConfigError =>
  new ConfigError("container.additionalMounts must be a list");

/** A plan without network on a machine without a sandbox. */
export const networkNotClosed = (): ConfigError =>
  new ConfigError("sandbox.network is none, but no sandbox is available", {
    hint: "install bubblewrap and set the sandbox's mode to it, or set sandbox.network to on",
  });

export const modelUnreachable = (): ConfigError =>
  new ConfigError(
    "sandbox.network is none, but the steps' agent calls its model over the network",
    {
      hint: "set sandbox.network to on; or agent.network to false, for an agent that needs none",
    },
  );

/** An agent without a process, for a plan that needs a sandbox. */
export const agentNotCommand = (): ConfigError =>
  new ConfigError("the steps' agent is a function of the worker, which can't run in a sandbox", {
    hint: "set the plan's sandbox to off, or use an agent that is a command",
  });

const projectHidden = (cwd: string, problem: string): ConfigError =>
  new ConfigError(`a sandbox can't show the project ${JSON.stringify(cwd)}: ${problem}`, {
    hint: "give the plan another directory (metadata.cwd), or set its sandbox to off",
  });

export const projectMissing = (cwd: string): ConfigError => projectHidden(cwd, "not found");

export const projectIsRoot = (cwd: string): ConfigError =>
  projectHidden(cwd, "it is the whole file system");

export const projectBlocked = (cwd: string, name: string): ConfigError =>
  projectHidden(cwd, `its path contains the blocked name ${name}`);

export const folderMoved = (path: string): ConfigError =>
  new ConfigError(`the folder ${path} was moved during a run that uses it`, {
    hint: "move it back",
  });

export const folderNotOpened = (path: string, cause: unknown): ConfigError =>
  new ConfigError(`the folder ${path} can't be opened`, { cause, hint: "check that it exists" });

export const folderReplaced = (path: string): ConfigError =>
  new ConfigError(`the folder ${path} was replaced during the start of a step`, {
    hint: "end the program that replaces it, then retry the run",
  });

export const imageWithoutBun = (image: string): ConfigError =>
  new ConfigError(
    `the image ${image} can't run this machine's Bun, which the tools of a step need`,
    { hint: "use an image with glibc, or set the plan's sandbox to bubblewrap" },
  );

/** A mistake of the caller: a command for a sandbox of the kind "off". */
export const noSandbox = (): Error => new Error("no sandbox for the command");

export const sandboxNotStarted = (problem: string): ConfigError =>
  new ConfigError(`the sandbox can't be started: ${problem}`, {
    hint: `repair it, or ${withoutSandbox}`,
  });

export const sandboxLeaks = (open: readonly { what: string; detail: string }[]): ConfigError =>
  new ConfigError(
    `the sandbox leaves open: ${open.map(({ detail, what }) => `${what} (${detail})`).join(", ")}`,
    {
      hint: `use another machine, or ${withoutSandbox}`,
      details: open.map(({ detail, what }) => `${what}: ${detail}`),
    },
  );

/** A step that was closed by a file in `path`, the folder of its messages. */
export const stepClosed = (path: string): ExecutorError =>
  new ExecutorError(`the step was closed: ${path}/_close`);

/** A step that exceeds a limit. `reason` names the limit, as in "used more than 4 GB". */
export const limitExceeded = (reason: string): ExecutorError =>
  new ExecutorError(`the step ${reason}`);

/** Files that would make git execute a program outside of the sandbox. */
export const gitFilesWritten = (paths: readonly string[]): ExecutorError =>
  new ExecutorError(
    `the step wrote ${paths.join(", ")}, which makes git execute programs; it was removed`,
  );

export const noWorkflowId = (): ConfigError =>
  new ConfigError("the run has a plan home but no id of a plan", {
    hint: "start it with uncaged-workflow plan run",
  });

export const noPlanHome = (): ConfigError =>
  new ConfigError("this worker has no plan home", {
    hint: "start it with uncaged-workflow worker",
  });

/** A missing program (`path`) that would check the step's commands. */
export const programGone = (path: string): ConfigError =>
  new ConfigError(`the program that started the run is gone: ${path}`, {
    hint: "install it there again, or retry the run with the installed program",
  });

export const confirmationUnreadable = (path: string, cause: unknown): ConfigError =>
  new ConfigError(`${path} can't be read`, { hint: "confirm the plan again", cause });

/**
 * Returns the error for a state that has changed since the confirmation. A run shows only the message, so the message
 * contains the remedy.
 */
const unconfirmed = (workflowId: string, problem: string): ExecutorError =>
  new ExecutorError(
    `${problem}: look at it, then confirm the plan again: uncaged-workflow plan confirm ${workflowId}`,
  );

export const confirmationGone = (workflowId: string, path: string): ExecutorError =>
  unconfirmed(workflowId, `the confirmation ${path} is gone`);

/** A plan without a confirmation in `userHome`, the folder with the user's confirmations. */
export const notConfirmedHere = (workflowId: string, userHome: string): ExecutorError =>
  unconfirmed(workflowId, `no confirmation of the current ${workflowId} found in ${userHome}`);

export const otherDirectory = (workflowId: string, now: string, confirmed: string): ExecutorError =>
  unconfirmed(workflowId, `${now} is not the confirmed directory (${confirmed})`);

/** A file that has changed. `how` is a verb phrase, such as "has changed". */
export const fileChanged = (workflowId: string, path: string, how: string): ExecutorError =>
  unconfirmed(workflowId, `${path} ${how} since the plan was confirmed`);

export const agentChanged = (workflowId: string, path: string): ExecutorError =>
  unconfirmed(workflowId, `the agent ${path}, which steps can write, is not the confirmed agent`);

/** A confirmation with a kind of sandbox that is now missing. `problem` is the reason, or null. */
export const sandboxGone = (
  workflowId: string,
  kind: string,
  problem: string | null,
): ExecutorError =>
  unconfirmed(
    workflowId,
    `the plan was confirmed with the sandbox ${kind}, but none is available now${problem === null ? "" : ` (${problem})`}`,
  );
