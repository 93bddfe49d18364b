import type { Descriptor } from "@uncaged/workflow-server/api-types";
import { Users } from "lucide-react";
import type { ReactNode } from "react";
import { isRecord } from "../../lib/json.ts";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Empty } from "../../ui/states.tsx";
import { Pre } from "../../ui/value.tsx";

/** A version's descriptor: its input and its roles, with their schemas. */
export function Roles({ descriptor }: { descriptor: Descriptor | null }) {
  if (!descriptor) {
    return (
      <Empty title="The descriptor can't be read">
        <p>The bundle's file is missing or broken. Add it again to bring it back.</p>
      </Empty>
    );
  }
  const roles = Object.entries(descriptor.roles);
  const { input } = descriptor;
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,25rem),1fr))] items-start gap-3">
      {input !== undefined && (
        <Values title={<span className="text-accent">Input of the workflow</span>} schema={input} />
      )}
      {roles.map(([name, { description, schema }]) => (
        <Values key={name} title={name} description={description} schema={schema} />
      ))}
      {roles.length === 0 && (
        <Empty icon={<Users />} title="No roles">
          <p>A descriptor may name the roles of a workflow and the schemas of their results.</p>
        </Empty>
      )}
    </div>
  );
}

type ValuesProps = { title: ReactNode; description?: string; schema: unknown };

const Values = ({ title, description, schema }: ValuesProps) => (
  <section className="panel flex min-w-0 flex-col gap-2 px-4 py-3 shadow-sm">
    <h2 className="wrap-anywhere">{title}</h2>
    {description && <p className="text-muted">{description}</p>}
    <SchemaTable schema={schema} />
  </section>
);

/** The fields of a schema as a table, and its JSON. */
function SchemaTable({ schema }: { schema: unknown }) {
  if (!isRecord(schema) || Object.keys(schema).length === 0) {
    return <p className="text-muted">{schema === false ? "No values." : "Any values."}</p>;
  }
  const facts = propertiesOf(schema).map(
    ({ name, type, isRequired, description }): Fact => [
      <code key={name}>{name}</code>,
      <>
        {type}
        {!isRequired && <span className="text-faint"> (optional)</span>}
        {description && <div className="text-small text-faint">{description}</div>}
      </>,
    ],
  );
  return (
    <>
      {facts.length > 0 && <Facts look="list" facts={facts} />}
      <details>
        <summary className="text-small">JSON Schema</summary>
        <Pre>{JSON.stringify(schema, null, 2)}</Pre>
      </details>
    </>
  );
}

/** The fields of a schema. A type is short, such as `string` or `one of "a", "b"`. */
export function propertiesOf(schema: unknown) {
  if (!isRecord(schema) || !isRecord(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties).map(([name, one]) => ({
    name,
    type: typeName(one),
    isRequired: required.includes(name),
    description: isRecord(one) && typeof one.description === "string" ? one.description : null,
  }));
}

function typeName(schema: unknown): string {
  if (!isRecord(schema)) return "any";
  if (Array.isArray(schema.enum)) {
    return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(", ")}`;
  }
  const types = [schema.type].flat().filter((type) => typeof type === "string");
  return types.join(" or ") || "any";
}
