import type { Descriptor } from "@uncaged/workflow-server/api-types";
import { Users } from "lucide-react";
import { Empty } from "../states/empty.tsx";
import styles from "./roles.module.css";
import { SchemaTable } from "./schema-table.tsx";

/** What a version says of itself: what a start takes, and its roles with their schemas. */
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
    <div className={styles.roles}>
      {input !== undefined && (
        <section className={styles.role}>
          <h2 className={styles.input}>What a start takes</h2>
          <SchemaTable schema={input} />
        </section>
      )}
      {roles.map(([name, { description, schema }]) => (
        <section key={name} className={styles.role}>
          <h2>{name}</h2>
          {description && <p className={styles.description}>{description}</p>}
          <SchemaTable schema={schema} />
        </section>
      ))}
      {roles.length === 0 && (
        <Empty icon={<Users />} title="It names no roles">
          <p>A descriptor may name the roles of a workflow and the schemas of their results.</p>
        </Empty>
      )}
    </div>
  );
}
