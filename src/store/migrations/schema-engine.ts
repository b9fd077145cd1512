import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { bindMigrationAwareSqlAdapterFactory, type SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import type * as EngineModule from '@prisma/schema-engine-wasm/schema_engine_bg';

let loading: Promise<typeof EngineModule> | undefined;

/** Prisma's schema engine on that database. It is to be freed; what the factory opened is its caller's to close. */
export async function openSchemaEngine(factory: SqlMigrationAwareDriverAdapterFactory): Promise<EngineModule.SchemaEngine> {
  loading ??= loadEngine();
  const engine = await loading;
  return engine.SchemaEngine.new({ datamodels: undefined }, ignoreLog, bindMigrationAwareSqlAdapterFactory(factory));
}

function ignoreLog(): void {
  // What matters of it comes back as an error.
}

/** The package's own entry imports its .wasm as a module, which Node can't do before version 22: so it is done by hand. */
async function loadEngine(): Promise<typeof EngineModule> {
  const path = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const [engine, bytes] = await Promise.all([
    import('@prisma/schema-engine-wasm/schema_engine_bg'),
    readFile(path.replace(/\.js$/, '.wasm')),
  ]);
  const { instance } = await WebAssembly.instantiate(bytes, {
    './schema_engine_bg.js': engine as unknown as WebAssembly.ModuleImports,
  });
  engine.__wbg_set_wasm(instance.exports);
  (instance.exports as { __wbindgen_start: () => void }).__wbindgen_start();
  return engine;
}
