import type { Environment } from "@uncaged/workflow/host";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { type Bubblewrap, findBubblewrap, found, isInside } from "@uncaged/workflow/sandbox";
import { ConfigError } from "../error/error.ts";
import type { SandboxSettings } from "./options.ts";

/** What a step runs in. */
export type SandboxKind = "off" | "bubblewrap" | "container";

/** A sandbox that works on this machine: what starts it, and which limits hold in it. */
export type Sandbox = {
  kind: SandboxKind;
  /** The command line before the sandbox's own: that of limits, or the container engine. Empty for none. */
  argv: string[];
  bubblewrap: Bubblewrap | null;
  limits: string[];
  /** The variables that the command line needs, and that are not seen inside. */
  env?: Record<string, string>;
};

const probeMs = 10_000;
const systemPath = "/usr/local/bin:/usr/bin:/bin";

const none: Sandbox = { kind: "off", argv: [], bubblewrap: null, limits: [] };

/**
 * Chooses the sandbox that settings ask for, of those that work on this machine. Programs below `writable` are not used:
 * a step may have written them.
 * @throws ConfigError when one that is named or required does not.
 */
export async function chosenSandbox(
  settings: SandboxSettings,
  env: Environment,
  writable: readonly string[],
): Promise<Sandbox> {
  const { mode, required } = settings;
  if (mode === "off") {
    if (!required) return none;
    throw new ConfigError("a sandbox is required, and the mode is off", {
      hint: "set the mode to auto, or required to false",
    });
  }
  const problems: string[] = [];
  if (mode !== "bubblewrap") {
    const container = await containerOn(settings, env, writable);
    if (typeof container !== "string") return container;
    problems.push(container);
  }
  if (mode !== "container") {
    const bubblewrap = await bubblewrapOn(settings, env, writable);
    if (typeof bubblewrap !== "string") return bubblewrap;
    problems.push(bubblewrap);
  }
  if (mode === "auto" && !required) return none;
  const what = mode === "auto" ? "a sandbox is required" : `the sandbox is to be ${mode}`;
  throw new ConfigError(`${what}, and there is none: ${problems.join("; ")}`, {
    hint: "install bubblewrap, or start the container engine with the image; or change the plan's sandbox",
  });
}

async function containerOn(
  { cpus, engine, image, memory }: SandboxSettings,
  env: Environment,
  writable: readonly string[],
): Promise<Sandbox | string> {
  const engines = engine === null ? ["docker", "podman"] : [engine];
  const problems: string[] = [];
  for (const name of engines) {
    const path = found(name, env);
    if (path === null || writable.some((top) => isInside(path, top)))
      problems.push(`${name} is not installed`);
    else if (await works([path, "image", "inspect", image], env)) {
      const limits = [inBytes(memory), `${cpus} cpus`];
      return { kind: "container", argv: [path], bubblewrap: null, limits };
    } else problems.push(`${name} does not run, or has no image ${image}`);
  }
  return problems.join(", ");
}

async function bubblewrapOn(
  { cpus, memory }: SandboxSettings,
  env: Environment,
  writable: readonly string[],
): Promise<Sandbox | string> {
  const PATH = `${env.PATH ?? ""}:${systemPath}`;
  const bubblewrap = await findBubblewrap(env, writable);
  if (typeof bubblewrap === "string") return bubblewrap;
  const limited = (await limitsOfGroup({ cpus, memory }, { ...env, PATH })) ?? {
    ...limits({ cpus, memory }, PATH),
    env: {},
  };
  const { argv, env: own, hold } = limited;
  return { kind: "bubblewrap", argv, bubblewrap, limits: hold, env: own };
}

type Limited = { argv: string[]; hold: string[]; env: Record<string, string> };

/**
 * What limits all processes together: a scope of the user's service manager, whose control group has the limits. Null where
 * there is none, or where the group's own files show that it does not hold them: the manager accepts also what the system
 * has not delegated to it.
 */
async function limitsOfGroup(
  { cpus, memory }: Pick<SandboxSettings, "cpus" | "memory">,
  { DBUS_SESSION_BUS_ADDRESS, PATH, XDG_RUNTIME_DIR }: Environment,
): Promise<Limited | null> {
  const path = found("systemd-run", { PATH });
  if (path === null || XDG_RUNTIME_DIR === undefined) return null;
  const given = { XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS };
  const env = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
  const properties = [`MemoryMax=${memory}`, "MemorySwapMax=0", `CPUQuota=${cpus * 100}%`];
  const scope = [path, "--user", "--scope", "--quiet", "--collect"];
  const argv = [...scope, ...properties.flatMap((one) => ["--property", one]), "--"];
  const files = await outputOf([...argv, "/bin/sh", "-c", showGroup], { PATH, ...env });
  return files !== null && holdsIn(files, { cpus, memory })
    ? { argv, env, hold: [`${inBytes(memory)} for all processes`, `${cpus} cpus`] }
    : null;
}

const showGroup =
  'cd "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)" && cat memory.max memory.swap.max cpu.max';

/** Whether a control group's files, one line each, have limits that are no higher than these. */
export function holdsIn(
  files: string,
  { cpus, memory }: Pick<SandboxSettings, "cpus" | "memory">,
): boolean {
  const [most = "", swap = "", cpu = ""] = files.split("\n");
  const [quota = "", period = ""] = cpu.split(" ");
  const isNumber = [most, quota, period].every((text) => /^\d+$/.test(text));
  return (
    isNumber && swap === "0" && Number(most) <= memory && Number(quota) / Number(period) <= cpus
  );
}

/** What limits processes without a control group: the memory of each one, and the processors of all. */
function limits(
  { cpus, memory }: Pick<SandboxSettings, "cpus" | "memory">,
  PATH: string,
): Omit<Limited, "env"> {
  const prlimit = found("prlimit", { PATH });
  const taskset = found("taskset", { PATH });
  const own = ownProcessors();
  const isFewer = taskset !== null && cpus < own.length;
  // Steps that run concurrently are spread over the processors.
  const first = Math.floor(Math.random() * own.length);
  const taken = Array.from({ length: cpus }, (_, n) => own[(first + n) % own.length]);
  return {
    argv: [
      ...(prlimit === null ? [] : [prlimit, `--data=${memory}`]),
      ...(isFewer ? [taskset, "--cpu-list", taken.join(",")] : []),
    ],
    hold: [
      prlimit === null ? "no limit of memory" : `${inBytes(memory)} for each process`,
      isFewer || (own.length > 0 && cpus >= own.length)
        ? `${Math.min(cpus, own.length)} cpus`
        : "no limit of cpus",
    ],
  };
}

/** The numbers of the processors that this process may use; none where that is not known. */
function ownProcessors(): number[] {
  let status = "";
  try {
    status = readFileSync("/proc/self/status", "utf8");
  } catch {
    return [];
  }
  const [, list = ""] = /^Cpus_allowed_list:\s*([\d,-]+)$/m.exec(status) ?? [];
  return list.split(",").flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, n) => from + n);
  });
}

const inBytes = (bytes: number): string => `${Number((bytes / 1024 ** 3).toFixed(2))} GiB`;

const known = new Map<string, Promise<string | null>>();
const knownMs = 60_000;

/** Whether a command ends well. */
const works = async (argv: readonly string[], env: Environment): Promise<boolean> =>
  (await outputOf(argv, env)) !== null;

/** What a command prints; null when it does not end well. The answer holds for a minute. */
function outputOf(argv: readonly string[], env: Environment): Promise<string | null> {
  const key = JSON.stringify([argv, env.PATH]);
  const before = known.get(key);
  if (before) return before;
  const [file = "", ...args] = argv;
  const answer = new Promise<string | null>((resolve) => {
    const options = { env: { ...env }, timeout: probeMs, killSignal: "SIGKILL" } as const;
    execFile(file, args, options, (error, stdout) => resolve(error === null ? stdout : null));
  });
  known.set(key, answer);
  setTimeout(() => known.delete(key), knownMs).unref();
  return answer;
}
