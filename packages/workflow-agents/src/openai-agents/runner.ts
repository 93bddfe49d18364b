import { type RunConfig, Runner } from "@openai/agents";

/**
 * Returns a runner of OpenAI's Agents SDK whose runs survive a crash, in a step of a durable workflow or in a role.
 *
 *     const runner = durableRunner();
 *     export const run = durable(async function* (step, { prompt }) {
 *       return yield* step("support", async () => (await runner.run(agent, prompt)).finalOutput);
 *     });
 *
 * After a crash, the step starts again and gets the recorded answers of models and results of tools. A tool call that
 * needs an approval makes the thread wait for a person. All other runs of the SDK in steps behave in the same way.
 * Outside steps, the runner is an ordinary runner.
 */
export function durableRunner(config?: Partial<RunConfig>): Runner {
  return new Runner(config);
}
