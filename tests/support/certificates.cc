// SPDX-License-Identifier: Apache-2.0
#include "tests/support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <cstdlib>

#include "vxlan/ip_address.h"

namespace weft::testing {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Certificate = std::shared_ptr<X509>;

void Require(bool done) {
  if (!done) std::abort();
}

// RSA keys take long to make: all tests of a process share one.
Key MakeKey(KeyKind kind) {
  static const Key rsa(EVP_RSA_gen(2048), EVP_PKEY_free);
  return kind == KeyKind::kRsa ? rsa : Key(EVP_EC_gen("P-256"), EVP_PKEY_free);
}

template <class Write>
std::string Pem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  Require(write(out.get()) == 1);
  std::string text(BIO_ctrl_pending(out.get()), '\0');
  Require(BIO_read(out.get(), text.data(), static_cast<int>(text.size())) > 0);
  return text;
}

std::string Pem(const Certificate& certificate) {
  return Pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); });
}

void AddExtension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

void SetCommonName(X509_NAME* name, const std::string& text) {
  Require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()), -1, 0) == 1);
}

Certificate Begin(const Key& key, const Authority::Desired& desired) {
  static long serial = 0;
  Certificate made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), static_cast<long>(desired.begins.count()));
  X509_gmtime_adj(X509_getm_notAfter(made.get()), static_cast<long>(desired.ends.count()));
  X509_set_pubkey(made.get(), key.get());
  SetCommonName(X509_get_subject_name(made.get()), desired.subject);
  return made;
}

}  // namespace

struct Authority::Own {
  Key key;
  Certificate certificate;
};

Authority::Authority(const std::string& name) : own_(std::make_unique<Own>()) {
  own_->key = MakeKey(KeyKind::kEcdsa);
  own_->certificate = Begin(own_->key, {.subject = name});
  X509* const made = own_->certificate.get();
  X509_set_issuer_name(made, X509_get_subject_name(made));
  AddExtension(made, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(made, NID_key_usage, "critical,keyCertSign");
  Require(X509_sign(made, own_->key.get(), EVP_sha256()) > 0);
  certificate_ = Pem(own_->certificate);
}

Authority::~Authority() = default;

Identity Authority::Issue(const Desired& desired) const {
  const Key key = MakeKey(desired.kind);
  const Certificate made = Begin(key, desired);
  X509_set_issuer_name(made.get(), X509_get_subject_name(own_->certificate.get()));
  std::string names;
  for (const std::string& name : desired.names)
    names +=
        (names.empty() ? "" : ",") + std::string(IpAddress::Parse(name) ? "IP:" : "DNS:") + name;
  if (!names.empty()) AddExtension(made.get(), NID_subject_alt_name, names);
  Require(X509_sign(made.get(), own_->key.get(), EVP_sha256()) > 0);
  return {Pem(made), Pem([&](BIO* out) {
            return PEM_write_bio_PKCS8PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr,
                                                 nullptr);
          })};
}

Identity Authority::IssueServer(std::vector<std::string> names) const {
  return Issue({.subject = "kube-apiserver", .names = std::move(names)});
}

}  // namespace weft::testing
