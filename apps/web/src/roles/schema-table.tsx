import { isRecord } from "../schema/json.ts";
import { propertiesOf } from "./properties.ts";
import styles from "./roles.module.css";

/** What a schema asks for, field by field, and as it is written. */
export function SchemaTable({ schema }: { schema: unknown }) {
  if (!isRecord(schema) || Object.keys(schema).length === 0) {
    return <p className={styles.any}>{schema === false ? "No values." : "Any values."}</p>;
  }
  const properties = propertiesOf(schema);
  return (
    <>
      {properties.length > 0 && (
        <dl className={styles.fields}>
          {properties.map(({ name, type, isRequired, description }) => (
            <div key={name}>
              <dt className="mono">{name}</dt>
              <dd>
                {type}
                {!isRequired && <span className={styles.optional}> (optional)</span>}
                {description && <span className={styles.hint}>{description}</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      <details className={styles.raw}>
        <summary>JSON Schema</summary>
        <pre tabIndex={0}>{JSON.stringify(schema, null, 2)}</pre>
      </details>
    </>
  );
}
