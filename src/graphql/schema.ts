import { GraphQLSchema } from 'graphql';
import { builder } from './builder.js';
import './scalars.js';
import './lock.js';
import './locks.js';
import './lock-event.js';
import './lock-events.js';
import './server-info.js';
import './acquire-lock.js';
import './acquire-locks.js';
import './release-lock.js';
import './release-locks.js';
import './renew-lock.js';
import './renew-locks.js';
import './lock-changes.js';
import './hold-lock.js';
import { SCHEMA_DESCRIPTION } from './schema-description.js';

builder.queryType({ description: 'Reads: as of one moment of the one clock, an expired lock reads as absent.' });
builder.mutationType({ description: 'Changes: each is decided and stored durably before it is answered.' });
builder.subscriptionType({ description: 'Streams of what happens.' });

/** The whole API. It holds no state: what it works with comes with the context of each operation. */
export const schema = new GraphQLSchema({ ...builder.toSchema().toConfig(), description: SCHEMA_DESCRIPTION });
