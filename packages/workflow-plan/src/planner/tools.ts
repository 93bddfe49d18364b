import { z } from "zod";
import { plannerForm } from "../plan/plan.ts";

/** The tools of the planner, as the model gets them. */
export const tools = [
  {
    name: "ask_question",
    description: "Asks the user one question. The conversation continues with the answer.",
    input_schema: schemaOf(z.object({ question: z.string() })),
  },
  {
    name: "set_secret",
    description:
      "Stores a credential that the user has given, as an environment variable for the steps that name it.",
    input_schema: schemaOf(
      z.object({
        key: z.string().describe("The variable's name, such as GITHUB_TOKEN."),
        value: z.string(),
      }),
    ),
  },
  {
    name: "create_workflow",
    description: "Shows the user a plan to confirm.",
    input_schema: schemaOf(plannerForm),
  },
];

function schemaOf(form: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(form, { io: "input" });
  return schema;
}
