// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/answer_reader.h"

#include <utility>

#include "control/kube/codec/answer_reader_json.h"
#include "control/kube/codec/answer_reader_protobuf_list.h"
#include "control/kube/codec/answer_reader_protobuf_watch.h"
#include "control/kube/codec/answer_reader_teller.h"

namespace weft::kube {

std::unique_ptr<AnswerReader> MakeAnswerReader(Encoding encoding, AnswerKind kind,
                                               const AnnotationKeys& keys,
                                               std::string_view own_node_name,
                                               AnswerListener& listener) {
  AnswerTeller teller(keys, own_node_name, listener);
  const bool watch = kind == AnswerKind::kWatch;
  if (encoding == Encoding::kProtobuf) {
    if (watch) return std::make_unique<ProtobufWatchReader>(std::move(teller));
    return std::make_unique<ProtobufListReader>(std::move(teller));
  }
  if (watch) return std::make_unique<JsonWatchReader>(std::move(teller));
  return std::make_unique<JsonListReader>(std::move(teller));
}

}  // namespace weft::kube
