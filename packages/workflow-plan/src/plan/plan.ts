import { z } from "zod";
import { diffModes, failureReactions, type WorkflowPhase } from "./terms.ts";

export type { StepStatus, WorkflowPhase } from "./terms.ts";

/*
 * The format of a plan, the one statement of it: the types come from it, the checks of what a model made, and the
 * schema of the tool that the model makes it with. What a bundle holds is checked already, so Zod stays out of
 * bundles: they import types of this file and no value.
 */

/** The most characters of a name and of a step's id. */
const longestName = 120;
const longestId = 64;
/** The most steps of a plan. */
export const mostSteps = 200;

const filled = (text: z.ZodString) =>
  text.refine((value) => value.trim() !== "", "must not be blank");

const whole = (least: number, most: number, unit = "") => {
  const message = `must be a whole number from ${least} to ${most}${unit}`;
  return z.number().int(message).min(least, message).max(most, message);
};

const poll = z.object({
  type: z.literal("poll"),
  interval_seconds: z
    .number()
    .int("must be a whole number of at least 1")
    .min(1, "must be a whole number of at least 1")
    .describe("Seconds from one check to the next."),
  check_script: filled(z.string()).describe("A shell script; what it prints is compared."),
  diff_mode: z
    .enum(diffModes)
    .describe("new_items: lines that were not in the last output; any_change: any other text."),
});

const cron = z.object({
  type: z.literal("cron"),
  expression: z.string().describe("Five fields: minute hour day-of-month month day-of-week."),
  timezone: z.string().optional().describe("An IANA name such as Europe/Berlin; UTC without it."),
});

const manual = z.object({ type: z.literal("manual") });

const trigger = z
  .discriminatedUnion("type", [poll, cron, manual])
  .describe("What starts a run: poll, cron or manual.");

/** A step's id, also as its name in `$steps.<id>.output`. */
export const idPattern = /^[a-z0-9]+(-[a-z0-9]+)*$/;

export const stepForm = z.object({
  id: z
    .string()
    .max(longestId, `must have at most ${longestId} characters`)
    .regex(idPattern, "must be kebab-case: a-z, 0-9 and single hyphens, as fetch-issues")
    .describe("kebab-case, such as fetch-issues."),
  description: filled(z.string()).describe("What the agent has to do, in detail."),
  expected_output: z.string().optional().describe("What the agent's final text must be."),
  agent: z.literal("claude"),
  inputs: z
    .record(z.string(), z.json())
    .describe("snake_case keys. Texts may have $steps.<id>.output and $trigger_data."),
  depends_on: z.array(z.string()).describe("The ids of the steps that must have succeeded."),
});

const failurePolicy = z.object({
  on_step_failure: z.enum(failureReactions),
  max_retries: whole(0, 20).default(0),
  retry_delay_ms: whole(0, 3_600_000).default(5000),
});

/** What a model makes: all else of a {@link Workflow} is the framework's. */
export const plannerForm = z.object({
  name: filled(z.string().max(longestName, `must have at most ${longestName} characters`)),
  description: filled(z.string()).describe("The user's request."),
  trigger,
  steps: z.array(stepForm).min(1, "must have at least 1 step"),
  failure_policy: failurePolicy,
});

/** What a run takes from a plan's metadata. */
export const metadataForm = z.looseObject({
  cwd: z.string().min(1, "must not be empty").optional(),
  container: z
    .looseObject({
      timeout: whole(1, 2 ** 31 - 1, " ms").optional(),
      additionalMounts: z
        .array(
          z.looseObject({
            hostPath: z.string().min(1, "must not be empty"),
            containerPath: z.string().optional(),
            readonly: z.boolean().optional(),
          }),
        )
        .optional(),
    })
    .optional(),
  fire_on_first_check: z.boolean().optional(),
  missed_slots: z.enum(["one", "skip"]).optional(),
});

/** When a plan runs. */
export type TriggerConfig = z.infer<typeof trigger>;
/** What becomes of a run when a step fails. */
export type FailurePolicy = z.infer<typeof failurePolicy>;

/** One step of a plan: the definition, no state of a run. */
export type PlanStep = z.infer<typeof stepForm> & {
  /** Where it is drawn; the framework computes it. */
  position?: { x: number; y: number };
};

/** What the model generates. */
export type PlannerOutput = Omit<z.infer<typeof plannerForm>, "steps"> & { steps: PlanStep[] };

/** A directory of the host that a container gets. */
export type AdditionalMount = {
  hostPath: string;
  containerPath?: string;
  readonly?: boolean;
};

/** What a plan's steps run in. */
export type ContainerConfig = {
  additionalMounts?: AdditionalMount[];
  /** How long an agent may take, in milliseconds (1,800,000). */
  timeout?: number;
};

export type SandboxMode = "off" | "bubblewrap" | "container" | "auto";

/** What a plan's steps run in; a mode alone is short for `{ mode }`. */
export type SandboxOptions = {
  mode?: SandboxMode;
  /** Whether a step without any sandbox must fail. */
  required?: boolean;
  network?: "on" | "none";
  /** The image of a container, and what runs it. */
  image?: string;
  engine?: "docker" | "podman";
  /** Of all processes of a step: memory in bytes (4 Gi), processors (2), processes and threads (4096), files in bytes (10 Gi). */
  memory?: number;
  cpus?: number;
  processes?: number;
  disk?: number;
};

/** What the framework and the user add to a plan. Further keys are kept. */
export type PlanMetadata = {
  owner?: { channel: string; chatJid?: string; sender?: string };
  /** The directory in which the agents work. */
  cwd?: string;
  bundle?: { name: string; hash: string };
  fire_on_first_check?: boolean;
  missed_slots?: "one" | "skip";
  /** What the steps run in: a mode, or an object with one. */
  sandbox?: SandboxMode | SandboxOptions;
  container?: ContainerConfig;
  [key: string]: unknown;
};

/** A whole plan. */
export type Workflow = PlannerOutput & {
  schema_version: "1.0";
  /** `wf_…` */
  id: string;
  phase: WorkflowPhase;
  /** ISO 8601. */
  created_at: string;
  updated_at: string;
  metadata?: PlanMetadata;
};

/** Where a conversation takes place: by it the planner knows whom it can notify. */
export type ChannelContext = {
  channel: "tui" | "telegram" | "whatsapp";
  chatJid?: string;
  sender?: string;
};
