import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply, ReplyTool } from "../../workflow-agents/test/wire.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { Store } from "./program.ts";

export type Started = {
  workflowId: string;
  phase: string;
  runId: string | null;
  threadId: string | null;
};
export type StepRow = {
  id: string;
  step_id: string;
  status: string;
  output_json: string | null;
  error: string | null;
};
export type RunRow = {
  id: string;
  status: string;
  error: string | null;
  trigger_data: string | null;
  steps: StepRow[];
};
export type Plan = {
  id: string;
  name: string;
  phase: string;
  trigger: Record<string, unknown>;
  steps: { id: string; description: string }[];
  metadata: Record<string, unknown>;
};
export type PlanView = Plan & { runs: RunRow[] };
export type Turned = {
  session: string;
  turn: { type: string; content: string; workflow?: Plan };
  workflow: Plan | null;
};

export const ask = (question: string): Reply => ({
  tools: [{ name: "ask_question", input: { question } }],
});
export const create = (plan: object): Reply => ({ tools: [made(plan)] });
export const made = (input: object): ReplyTool => ({ name: "create_workflow", input });

/** Returns a plan in the form that a model writes. `steps` has the dependencies of each step by its id. */
export function planOf(steps: Record<string, string[]>, more: object = {}): object {
  return {
    name: "A plan",
    description: "do it",
    trigger: { type: "manual" },
    steps: Object.entries(steps).map(([id, depends_on]) => ({
      ...{ id, description: `do ${id}`, agent: "claude", depends_on },
      inputs: Object.fromEntries(depends_on.map((one) => [one, `$steps.${one}.output`])),
    })),
    failure_policy: { on_step_failure: "skip_dependents", max_retries: 0, retry_delay_ms: 0 },
    ...more,
  };
}

/** A storage root with a scripted model, and an agent that reads its instructions from files in its folder. */
export class PlanStore extends Store {
  readonly #server: Awaited<ReturnType<typeof anthropicServer>>;
  /** The agents' folder. */
  readonly work = join(this.folder, "work");

  /** Whether commands run in this process unless they start services. */
  isHere = false;

  private constructor(server: Awaited<ReturnType<typeof anthropicServer>>) {
    super();
    this.#server = server;
    mkdirSync(this.work);
  }

  /** @param replies the model's replies, in order */
  static async open(replies: Reply[] = []): Promise<PlanStore> {
    const store = new PlanStore(
      await anthropicServer(() => store.replies.shift() ?? { text: "?" }),
    );
    store.replies.push(...replies);
    return store;
  }

  readonly replies: Reply[] = [];
  /** Additional environment variables. */
  readonly more: Record<string, string> = {};

  /** Requests to the model, as JSON. */
  get asked(): string {
    return JSON.stringify(this.#server.came.map(({ body }) => body));
  }

  protected override needsProcess(args: string[]): boolean {
    const isService = args[1] === "service" || args[1] === "chat";
    return args[0] === "plan" && this.isHere ? isService : super.needsProcess(args);
  }

  override get env(): Record<string, string> {
    return {
      ...super.env,
      ANTHROPIC_API_KEY: this.#server.key,
      ANTHROPIC_BASE_URL: this.#server.url,
      UNCAGED_PLAN_AGENT_COMMAND: join(import.meta.dir, "agents/agent.sh"),
      UNCAGED_PLAN_SANDBOX_MODE: "off",
      ...this.more,
    };
  }

  /** Makes the model create a plan, and returns the plan. */
  async plan(
    steps: Record<string, string[]>,
    more: object = {},
    env: Record<string, string> = {},
  ): Promise<Plan> {
    this.replies.push(create(planOf(steps, more)));
    const words = ["plan", "new", "do it"];
    const { workflow } = await this.json<Turned>(words, { cwd: this.work, env });
    if (!workflow) throw new Error("the model made no plan");
    return workflow;
  }

  /** Makes the given steps fail or wait from now on. */
  mark(file: "broken" | "waiting", steps: string[]): void {
    if (steps.length === 0) rmSync(join(this.work, file), { force: true });
    else writeFileSync(join(this.work, file), steps.map((step) => `do ${step}\n`).join(""));
  }

  view(id: string): Promise<PlanView> {
    return this.json<PlanView>(["plan", "show", id]);
  }

  /** Waits until a plan satisfies a condition. */
  async untilPlan(id: string, fits: (view: PlanView) => boolean): Promise<PlanView> {
    let view = await this.view(id);
    await until(
      async () => fits(view) || fits((view = await this.view(id))),
      () => `the plan does not match: ${JSON.stringify(view)}`,
    );
    return view;
  }

  untilPhase(id: string, phase: string): Promise<PlanView> {
    return this.untilPlan(id, (view) => view.phase === phase);
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }
}
