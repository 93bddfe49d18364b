import { settled } from "@uncaged/workflow/host";
import { ModelRuns, type Run } from "./model-runs.ts";
import type { Reply, ReplyTool } from "./wire.ts";

/* Threads that run programs of OpenAI's Agents SDK, with scripted answers of their models. */

type Item = { type?: string; content?: unknown; approve?: boolean };
type Body = { instructions?: string; input?: Item[] };

/** A fault at a request, counted from 1: the worker exits before the answer or during the answer. */
export type Fault = { request: number; kind: "asked" | "answering" };

const call = (name: string, input: object = {}): ReplyTool => ({ name, input });
const mark = (n: number): ReplyTool => call("mark", { n });
const mcp = { name: "look_up", arguments: '{"q":"it"}', server_label: "docs" };

/** Returns a model's answer. The instructions identify the agent, and the call results in the request its progress. */
export function answerOf({ instructions = "", input = [] }: Body): Reply {
  const results = input.filter(({ type }) => type === "function_call_output").length;
  const last = input.at(-1);
  const said = JSON.stringify(last?.content ?? "");
  const approval = input.find(({ type }) => type === "mcp_approval_response");
  switch (instructions) {
    case "You judge.":
      return { text: '{"isBad": false}' };
    case "You triage.":
      if (results === 0) return { thinking: "two at once", tools: [mark(1), mark(2)] };
      return { tools: [call("transfer_to_Refunds")] };
    case "You refund.":
      return results === 3 ? { tools: [call("pay", { n: 6 }), mark(4)] } : { text: "all is done" };
    case "You manage.":
      if (last?.type === "function_call_output") return { text: `answer ${input.length}` };
      return { tools: [call("ask_expert", { input: said.includes("first") ? "one" : "two" })] };
    case "You know.":
      return results > 0 ? { text: "I know" } : { tools: [mark(said.includes("one") ? 11 : 12)] };
    case "You look up.":
      if (!approval) return { hosted: [{ type: "mcp_approval_request", id: "mcpr_1", ...mcp }] };
      if (approval.approve !== true) return { text: "refused" };
      return {
        text: "found it",
        hosted: [{ type: "mcp_call", id: "mcp_1", ...mcp, output: "it" }],
      };
    case "Sort requests.":
      return { tools: [call("transfer_to_Refunds")] };
    case "Refund orders.":
      if (results > 1) return { text: "You get 150 back." };
      return { tools: [call("refund", { order: "A-1", amount: 150 })] };
    case "You plan a trip.":
      return { text: "a plan" };
    case "You rewrite a question.":
      return { text: "What is the state of the order?" };
    case "You classify a question.":
      return { text: '{"operating_procedure": "q-and-a"}' };
    case "You answer a question: Where is my order?":
      return { text: "on its way" };
    case "You classify a request.":
      return { text: '{"classification": "return_item"}' };
    case "You offer a replacement.":
      return { text: "a new one" };
    default:
      throw new Error(`no agent has the instructions ${instructions}`);
  }
}

/** The answer to each question, and an action before it. */
type Answering = { answer?: unknown; before?: () => Promise<void> };

/** The pending fault of the model's server, the number of requests, and whether a fault is killing the worker. */
type Server = { fault: Fault | null; requests: number; isEnding: boolean };

/** Runs programs of the SDK in threads, and injects faults of their model's server. */
export class AgentsRuns {
  readonly models: ModelRuns;
  readonly #server: Server;

  private constructor(models: ModelRuns, server: Server) {
    this.models = models;
    this.#server = server;
  }

  static async open(): Promise<AgentsRuns> {
    const server: Server = { fault: null, requests: 0, isEnding: false };
    const models = await ModelRuns.open((body) => {
      // The worker may exit before it has read the answer to a concurrent request.
      if (server.isEnding) return { fault: { kind: "hang" } };
      server.requests += 1;
      const { fault } = server;
      if (fault?.request !== server.requests) return answerOf(body);
      server.fault = null;
      server.isEnding = true;
      const held = models.killInAnswer();
      if (fault.kind === "asked") return { fault: { kind: "hang" } };
      return { ...answerOf(body), held, heldAfter: 3, fault: { kind: "half-event", after: 4 } };
    });
    return new AgentsRuns(models, server);
  }

  /** Starts a program whose process exits at a request or at a place of the bundle. */
  async start(workflow: string, prompt: string, at: Fault | string = ""): Promise<Run> {
    const fault = typeof at === "string" ? null : at;
    Object.assign(this.#server, { fault, requests: 0, isEnding: false } satisfies Server);
    return await this.models.start(workflow, prompt, typeof at === "string" ? at : "", "responses");
  }

  /**
   * Resumes and answers a thread until it ends. `before` runs before each answer. Returns the ended thread and its
   * questions.
   */
  async finished(run: Run, { answer = true, before = async () => {} }: Answering = {}) {
    const { host } = this.models;
    const { ref, env, cwd } = run;
    const questions: Record<string, unknown>[] = [];
    for (;;) {
      const view = await settled(host, ref);
      if (view.status === "interrupted") {
        this.#server.isEnding = false;
        await host.control(ref, { kind: "resume", env, cwd });
      } else if (view.status !== "waiting") return { view, questions };
      else {
        questions.push(view.question.meta);
        await before();
        const input = { content: JSON.stringify(answer), value: answer, meta: {} };
        await host.control(ref, { kind: "answer", input, env, cwd });
      }
    }
  }

  /** Returns the bodies of the requests whose usage the server reported, without the numbers in ids. */
  answered(): string[] {
    return this.models.servers.responses.came
      .filter(({ reported }) => reported.requests > 0)
      .map(({ body }) => JSON.stringify(body).replaceAll(/_\d+(?=[_"])/g, ""));
  }
}
