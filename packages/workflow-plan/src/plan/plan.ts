import { z } from "zod";
import { diffModes, failureReactions, type WorkflowPhase } from "./terms.ts";

export type { StepStatus, WorkflowPhase } from "./terms.ts";

/*
 * Defines the format of a plan. The types, the checks of a model's plan and the schema of the model's tool are all
 * derived from it. The content of a bundle is already checked, so bundles import only the types of this file and
 * contain no Zod.
 */

/** The maximum length of a name and of a step's id, in characters. */
const longestName = 120;
const longestId = 64;
/** The maximum number of steps of a plan. */
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
  check_script: filled(z.string()).describe("A shell script; its output is compared."),
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
  .describe("The trigger of a run: poll, cron or manual.");

/** The pattern of a step's id, including in `$steps.<id>.output`. */
export const idPattern = /^[a-z0-9]+(-[a-z0-9]+)*$/;

export const stepForm = z.object({
  id: z
    .string()
    .max(longestId, `must have at most ${longestId} characters`)
    .regex(idPattern, "must be kebab-case: a-z, 0-9 and single hyphens, such as fetch-issues")
    .describe("kebab-case, such as fetch-issues."),
  description: filled(z.string()).describe("The task of the agent, in detail."),
  expected_output: z
    .string()
    .optional()
    .describe("The required content of the agent's final text."),
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

/** The part of a {@link Workflow} that a model generates; the framework adds the rest. */
export const plannerForm = z.object({
  name: filled(z.string().max(longestName, `must have at most ${longestName} characters`)),
  description: filled(z.string()).describe("The user's request."),
  trigger,
  steps: z.array(stepForm).min(1, "must have at least 1 step"),
  failure_policy: failurePolicy,
});

/** The part of a plan's metadata that runs use. */
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

/** The trigger of a plan. */
export type TriggerConfig = z.infer<typeof trigger>;
/** The reaction of a run to a failed step. */
export type FailurePolicy = z.infer<typeof failurePolicy>;

/** The definition of a plan's step, without the state of a run. */
export type PlanStep = z.infer<typeof stepForm> & {
  /** The position in an editor, computed by the framework. */
  position?: { x: number; y: number };
};

/** A plan as the model generates it. */
export type PlannerOutput = Omit<z.infer<typeof plannerForm>, "steps"> & { steps: PlanStep[] };

/** A directory of the host to mount in a container. */
export type AdditionalMount = {
  hostPath: string;
  containerPath?: string;
  readonly?: boolean;
};

/** The container of a plan's steps. */
export type ContainerConfig = {
  additionalMounts?: AdditionalMount[];
  /** The timeout of an agent in milliseconds (1,800,000). */
  timeout?: number;
};

export type SandboxMode = "off" | "bubblewrap" | "container" | "auto";

/** The sandbox of a plan's steps. A mode is short for `{ mode }`. */
export type SandboxOptions = {
  mode?: SandboxMode;
  /** Whether a step must fail without a sandbox. */
  required?: boolean;
  network?: "on" | "none";
  /** The image of a container, and its engine. */
  image?: string;
  engine?: "docker" | "podman";
  /**
   * The limits of all processes of a step together: memory in bytes (4 Gi), processors (2), processes and threads
   * (4096), files in bytes (10 Gi).
   */
  memory?: number;
  cpus?: number;
  processes?: number;
  disk?: number;
};

/** The metadata that the framework and the user add to a plan. Further keys are kept. */
export type PlanMetadata = {
  owner?: { channel: string; chatJid?: string; sender?: string };
  /** The directory in which the agents work. */
  cwd?: string;
  bundle?: { name: string; hash: string };
  fire_on_first_check?: boolean;
  missed_slots?: "one" | "skip";
  /** The sandbox of the steps: a mode, or options with a mode. */
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

/** The place of a conversation. It tells the planner which chat a plan can notify. */
export type ChannelContext = {
  channel: "tui" | "telegram" | "whatsapp";
  chatJid?: string;
  sender?: string;
};
