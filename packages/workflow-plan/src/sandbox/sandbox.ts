import type { Environment } from "@uncaged/workflow/host";
import {
  type Bubblewrap,
  type Container,
  findBubblewrap,
  findContainer,
  heldLimits,
  limitCommand,
  type NoContainer,
} from "@uncaged/workflow/sandbox";
import type { SandboxSettings } from "./options.ts";
import { requiredButOff, sandboxUnavailable } from "./errors.ts";

/** The sandbox of a step. */
export type SandboxKind = "off" | "bubblewrap" | "container";

/** A working sandbox of this machine: its start command, and its enforced limits. */
export type Sandbox = {
  kind: SandboxKind;
  /** The command line that sets limits, before the command line of bubblewrap. Empty without limits. */
  argv: string[];
  bubblewrap: Bubblewrap | null;
  container: Container | null;
  limits: string[];
  /** The reason why no sandbox was found, or null. */
  problem: string | null;
  /** Variables for the command line that are not visible inside the sandbox. */
  env?: Record<string, string>;
};

const none: Sandbox = {
  kind: "off",
  argv: [],
  bubblewrap: null,
  container: null,
  limits: [],
  problem: null,
};

/**
 * Chooses the sandbox of the settings among the working sandboxes of this machine. Skips programs below `writable`,
 * because a step may have written them.
 * @throws ConfigError if a named or required sandbox does not work.
 */
export async function chosenSandbox(
  settings: SandboxSettings,
  env: Environment,
  writable: readonly string[],
): Promise<Sandbox> {
  const { mode, required } = settings;
  if (mode === "off") {
    if (!required) return none;
    throw requiredButOff();
  }
  const problems: string[] = [];
  // A user who built the image wants a sandbox.
  let isWanted = required || mode !== "auto";
  if (mode !== "bubblewrap") {
    const container = await containerOn(settings, env, writable);
    if ("kind" in container) return container;
    problems.push(container.problem);
    isWanted ||= container.hasImage;
  }
  if (mode !== "container") {
    const bubblewrap = await bubblewrapOn(settings, env, writable);
    if (typeof bubblewrap !== "string") return bubblewrap;
    problems.push(bubblewrap);
  }
  if (!isWanted) return { ...none, problem: problems.at(-1) ?? null };
  throw sandboxUnavailable(mode, problems);
}

async function containerOn(
  settings: SandboxSettings,
  env: Environment,
  writable: readonly string[],
): Promise<Sandbox | NoContainer> {
  const { engine, image } = settings;
  const engines = engine === null ? ["docker", "podman"] : [engine];
  const problems: NoContainer[] = [];
  for (const name of engines) {
    const container = await findContainer({ engine: name, image, limits: settings }, env, writable);
    if (!("problem" in container)) {
      const limits = heldLimits(settings);
      return { kind: "container", argv: [], bubblewrap: null, container, limits, problem: null };
    }
    problems.push(container);
  }
  return {
    problem: problems.map(({ problem }) => problem).join(", "),
    hasImage: problems.some(({ hasImage }) => hasImage),
  };
}

async function bubblewrapOn(
  settings: SandboxSettings,
  env: Environment,
  writable: readonly string[],
): Promise<Sandbox | string> {
  const bubblewrap = await findBubblewrap(env, writable);
  if (typeof bubblewrap === "string") return bubblewrap;
  const { argv, env: own, hold } = await limitCommand(settings, env, writable);
  return {
    kind: "bubblewrap",
    argv,
    bubblewrap,
    container: null,
    limits: hold,
    problem: null,
    env: own,
  };
}
