import { defaultLimits } from "@uncaged/workflow/sandbox";

import type { SandboxMode, SandboxOptions } from "../plan/plan.ts";
import { invalidOption, notSandbox, unknownOption } from "./errors.ts";

const modes: readonly SandboxMode[] = ["off", "bubblewrap", "container", "auto"];

/** {@link SandboxOptions} with defaults filled in. */
export type SandboxSettings = Required<Omit<SandboxOptions, "engine">> & {
  engine: NonNullable<SandboxOptions["engine"]> | null;
};

const defaults: SandboxSettings = {
  mode: "auto",
  required: false,
  network: "on",
  image: "uncaged-workflow-agent",
  engine: null,
  ...defaultLimits,
};

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) > 0;
const isOneOf =
  (...words: unknown[]) =>
  (value: unknown): boolean =>
    words.includes(value);

const checks: Record<keyof SandboxOptions, [isRight: (value: unknown) => boolean, is: string]> = {
  mode: [isOneOf(...modes), `one of ${modes.join(", ")}`],
  required: [isOneOf(true, false), "true or false"],
  network: [isOneOf("on", "none"), "on or none"],
  image: [
    (value) => typeof value === "string" && /^[\w][\w./:@-]*$/.test(value),
    "the name of an image",
  ],
  engine: [isOneOf("docker", "podman"), "docker or podman"],
  memory: [isCount, "a number of bytes"],
  cpus: [isCount, "a whole number of at least 1"],
  processes: [isCount, "a whole number of at least 1"],
  disk: [isCount, "a number of bytes"],
};

/**
 * Parses the sandbox in a plan's metadata, with defaults filled in.
 * @throws ConfigError
 */
export function sandboxSettings(sandbox: unknown): SandboxSettings {
  if (sandbox === undefined) return defaults;
  const given: unknown = typeof sandbox === "string" ? { mode: sandbox } : sandbox;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw notSandbox(modes);
  }
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [key, value] of named) {
    if (!Object.hasOwn(checks, key)) throw unknownOption(key, Object.keys(checks));
    const [isRight, is] = checks[key as keyof SandboxOptions];
    if (!isRight(value)) throw invalidOption(key, value, is);
  }
  return { ...defaults, ...Object.fromEntries(named) };
}
