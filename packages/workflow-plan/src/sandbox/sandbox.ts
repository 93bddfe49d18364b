import type { Environment } from "@uncaged/workflow/host";
import { findCommand, heldLimits, limitCommand, outputOf } from "@uncaged/workflow/sandbox";
import { ConfigError } from "../error/error.ts";
import type { SandboxSettings } from "./options.ts";

/** What a step runs in. */
export type SandboxKind = "off" | "bubblewrap" | "container";

/** A sandbox that works on this machine: what starts it, and which limits hold in it. */
export type Sandbox = {
  kind: SandboxKind;
  /** The command line before the sandbox's own arguments: empty for none. */
  argv: string[];
  limits: string[];
  /** The variables that the command line needs, and that are not seen inside. */
  env?: Record<string, string>;
};

const systemPath = "/usr/local/bin:/usr/bin:/bin";

const none: Sandbox = { kind: "off", argv: [], limits: [] };

/**
 * The sandbox that settings ask for, of those that work on this machine.
 * @throws ConfigError when one that is named or required does not.
 */
export async function chosenSandbox(settings: SandboxSettings, env: Environment): Promise<Sandbox> {
  const { mode, required } = settings;
  if (mode === "off") {
    if (!required) return none;
    throw new ConfigError("a sandbox is required, and the mode is off", {
      hint: "set the mode to auto, or required to false",
    });
  }
  const problems: string[] = [];
  if (mode !== "bubblewrap") {
    const container = await containerOn(settings, env);
    if (typeof container !== "string") return container;
    problems.push(container);
  }
  if (mode !== "container") {
    const bubblewrap = await bubblewrapOn(settings, env);
    if (typeof bubblewrap !== "string") return bubblewrap;
    problems.push(bubblewrap);
  }
  if (mode === "auto" && !required) return none;
  const what = mode === "auto" ? "a sandbox is required" : `the sandbox is to be ${mode}`;
  throw new ConfigError(`${what}, and there is none: ${problems.join("; ")}`, {
    hint: "install bubblewrap, or start the container engine with the image; or change the plan's sandbox",
  });
}

async function containerOn(settings: SandboxSettings, env: Environment): Promise<Sandbox | string> {
  const { engine, image } = settings;
  const engines = engine === null ? ["docker", "podman"] : [engine];
  const problems: string[] = [];
  for (const name of engines) {
    const path = findCommand(name, env);
    if (path === null) problems.push(`${name} is not installed`);
    else if (await works([path, "image", "inspect", image], env)) {
      return { kind: "container", argv: [path], limits: heldLimits(settings) };
    } else problems.push(`${name} does not run, or has no image ${image}`);
  }
  return problems.join(", ");
}

async function bubblewrapOn(
  settings: SandboxSettings,
  env: Environment,
): Promise<Sandbox | string> {
  const PATH = `${env.PATH ?? ""}:${systemPath}`;
  const path = findCommand("bwrap", { PATH });
  if (path === null) return "bubblewrap is not installed";
  const probe = ["--unshare-user-try", "--unshare-pid", "--die-with-parent", "--ro-bind", "/", "/"];
  if (!(await works([path, ...probe, "--proc", "/proc", "--", "/bin/true"], { PATH }))) {
    return "bubblewrap may not create namespaces here";
  }
  const limited = await limitCommand(settings, { ...env, PATH });
  const argv = [...limited.argv, path];
  return { kind: "bubblewrap", argv, limits: limited.hold, env: limited.env };
}

/** Whether a command ends well. */
const works = async (argv: readonly string[], env: Environment): Promise<boolean> =>
  (await outputOf(argv, env)) !== null;
